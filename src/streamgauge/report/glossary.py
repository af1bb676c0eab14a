"""The terms of the reports, each with its definition: at the foot of every page that uses it, and in the docs."""

from __future__ import annotations

import re
from collections.abc import Iterable

TERMS: dict[str, str] = {
    "achieved rate": "The records per second that the load generator really sent.",
    "backlog": "Input records that have arrived at the transport and whose result has not been written yet.",
    "baseline": "What something is compared with: in a report, an earlier run that is drawn behind this one.",
    "burst": "Many records that are sent within a short time, on top of the base rate.",
    "capacity": "The hardest load that a system sustains, found by a search of many short runs.",
    "closed loop": "A load without a schedule: it sends more records when the transport has acknowledged earlier ones.",
    "drain": "The part of a run after the load has ended, until no more results are written.",
    "drifting": "The state of a run whose latency kept rising or falling, so that it had not settled.",
    "end-to-end latency": (
        "From the moment the last input of a result should have been sent until the result can be read. It includes "
        "the load generator and the transport: what a user waits. Its key in the files is `total`."
    ),
    "engine": "The system under test, for example Spark Structured Streaming or Flink.",
    "FAILED": "The verdict on a run whose system under test died or gave wrong answers.",
    "fault": "A process that the run killed, paused or cut off on purpose.",
    "garbage collection": "Time that a JVM spends on freeing memory. It stops or slows down the program meanwhile.",
    "generator share": (
        "The part of the end-to-end latency before the record arrived at the transport: from when it should have been "
        "sent. Its key in the files is `generator_share`."
    ),
    "heap": "The memory that a JVM manages for its program.",
    "INVALID": "The verdict on a run whose measurement cannot be trusted: its numbers are not for use.",
    "lag": "Input records that have arrived and that the engine has not taken yet.",
    "lateness": "How much later than planned the load generator sent a record.",
    "load generator": "The processes of streamgauge that send the input, each record at its planned moment.",
    "LPF": (
        "Latency penalty factor: the mean latency of a run in which a node fails, divided by the mean of those with "
        "all nodes and with one fewer. 1 means no penalty, more is one."
    ),
    "manifest": "The file of a run directory that says what was asked for and what it ran on.",
    "mean-input latency": (
        "From the mean arrival of all inputs of a result until the result can be read. Its key in the files is "
        "`average`."
    ),
    "measured interval": "The part of a run that its figures are about: after the warm-up, before the tail.",
    "offered rate": "The records per second that the plan of the load asks for.",
    "outage": "The longest time without output after a fault.",
    "overloaded": "The state of a run whose system could not keep up with the offered rate.",
    "percentile": (
        "p99 is the latency that 99 % of the results do not exceed; p50 is the median. A percentile needs at least 10 "
        "results above it."
    ),
    "preloaded": "All input is in the transport before the engine is started, which then works as fast as it can.",
    "probe": "One short run of a capacity search, at one value.",
    "processing latency": (
        "From the moment the last input of a result had arrived at the transport until the result can be read: the "
        "system's own share. Its key in the files is `latest`."
    ),
    "processing-time latency": (
        "From the moment the last input of a result was handed to the engine until the result can be read; only where "
        "the transport stamps that moment (queues). The wait in the queue is not part of it, so it stays low when an "
        "engine falls behind. Its key in the files is `processing_time`."
    ),
    "profile": "A set of loads, sizes and durations: `paper` has the publication's, `laptop` fits a small machine.",
    "PSI": "Pressure stall information of Linux: the share of time in which a process waited for CPU, memory or I/O.",
    "reference answer": "The right results, computed from the recorded input after the run.",
    "resident memory": "The memory of a process that is in RAM.",
    "resolution": "How exactly a figure is known.",
    "service-level objective": "A limit that you set for a figure, for example a p99 below one second.",
    "steady": "The state of a run that kept up and whose latency did not drift.",
    "sustained": "Whether the system keeps up with the offered load, by the rule of the scenario.",
    "tail": "The last part of the load, which only completes the results of the measured interval.",
    "TPF": (
        "Throughput penalty factor: the throughput of a run in which a node fails, divided by the mean of those with "
        "all nodes and with one fewer. 1 means no penalty, less is one."
    ),
    "transport": "What carries the records to the engine and its results back, and stamps when they arrive.",
    "VALID": "The verdict on a run whose measurement can be trusted.",
    "warm-up": "The first part of a run, in which the engine gets up to speed. It is not measured.",
    "workload": "What is computed, on which data.",
}

_CAPITALS = {term for term in TERMS if term.isupper()}
_BY_LOWER = {term.lower(): term for term in TERMS}
_WORDS = "|".join(re.escape(term) for term in sorted(TERMS, key=len, reverse=True))
_TERM = re.compile(rf"(?<![\w/.-])({_WORDS})(s?)(?![\w/-])", re.IGNORECASE)
_TAG = re.compile(r"(<[^>]*>)")
_NAME = re.compile(r"<(/?)([a-z][a-z0-9]*)")
_UNLINKED = frozenset(
    ("a", "button", "caption", "code", "h1", "h2", "h3", "h4", "head", "nav", "noscript", "pre", "script", "summary")
)


def link_terms(page: str) -> tuple[str, list[str]]:
    """The page with the first use of each term in each section linked, and the terms that it uses, sorted.

    Text that is not ours to read (code, settings, headings, links) stays as it is: elements in ``_UNLINKED``, and
    those with the attribute ``data-plain``.
    """
    parts: list[str] = []
    used: set[str] = set()
    in_section: set[str] = set()
    skipped, depth = "", 0

    def link(match: re.Match[str]) -> str:
        word = match[1]
        term = _BY_LOWER[word.lower()]
        if term in in_section or (term in _CAPITALS and word != term):
            return match[0]
        in_section.add(term)
        used.add(term)
        return f'<a class="term" href="#{_anchor(term)}">{match[0]}</a>'

    for part in _TAG.split(page):
        if named := _NAME.match(part):
            closing, name = bool(named[1]), named[2]
            if skipped:
                depth += (-1 if closing else 1) if name == skipped else 0
                skipped = skipped if depth else ""
            elif not closing and (name in _UNLINKED or " data-plain" in part):
                skipped, depth = name, 1
            elif name == "section" and not closing:
                in_section.clear()
            parts.append(part)
        else:
            parts.append(part if skipped else _TERM.sub(link, part))
    return "".join(parts), sorted(used, key=str.lower)


def as_section(terms: Iterable[str]) -> str:
    """The definitions of these terms as a section of a page; nothing for none."""
    rows = [f'<div id="{_anchor(term)}"><dt>{term}</dt><dd>{_code(TERMS[term])}</dd></div>' for term in terms]
    if not rows:
        return ""
    return (
        '<section id="glossary">\n<h2>Glossary</h2>\n<dl class="words">\n' + "\n".join(rows) + "\n</dl>\n</section>\n"
    )


def as_markdown() -> str:
    """The page of the docs: every term."""
    terms = sorted(TERMS.items(), key=lambda entry: entry[0].lower())
    intro = "The terms of the reports and of these docs. Every report defines the terms that it uses."
    return "\n".join(["# Glossary", "", intro, "", *(f"- **{term}**: {words}" for term, words in terms), ""])


def _anchor(term: str) -> str:
    return "term-" + re.sub(r"\W+", "-", term.lower())


def _code(definition: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", definition)
