"""The rows of the report's tables, numbers already as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from streamgauge.model import NS_PER_S
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.manifest import Manifest
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import Repetition, Summary
from streamgauge.report.figures import CLOCK_LIMIT_MS, CLOCK_WARNING_MS, clock_steps_ms, late_limits_ms
from streamgauge.report.latencies import latency_name
from streamgauge.report.source import Source
from streamgauge.report.text import (
    CLOSED_LOOP,
    COMMITTED,
    INCLUDES_WAIT,
    LATENCIES,
    NONE,
    RESULTS,
    bounded,
    moment,
    number,
    rounded,
    share,
    throughput_words,
)
from streamgauge.rundir import shared_cores

PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9", "max": "max", "mean": "mean"}


@dataclass(frozen=True)
class Value:
    """One number of a headline."""

    name: str
    text: str
    unit: str = ""


@dataclass(frozen=True)
class Headline:
    """One tile on the first screen."""

    title: str
    values: Sequence[Value]
    note: str


def headlines(source: Source) -> list[Headline]:
    summary = source.summary
    rows = []
    for kind, note in (
        ("total", CLOSED_LOOP if summary.closed_loop else "from the moment an input was due"),
        ("latest", "from the last input's arrival"),
    ):
        values = summary.latency(kind)
        rows.append(
            Headline(
                latency_name(kind),
                [Value(name, bounded(values, name, rounded), "ms") for name in ("p50", "p99")],
                INCLUDES_WAIT if summary.processing else note,
            )
        )
    results = summary.results
    checked = summary.validated is not False
    counts = ("lost", "wrong", "unfinished", "duplicates") if checked else ("lost", "unfinished", "duplicates")
    rows.append(
        Headline(
            "answers" if checked else "records",
            [Value(name, number(results.get(name))) for name in counts],
            _answers_note(summary),
        )
    )
    rate = summary.rate_per_s
    if processing := summary.processing:
        rows.append(
            Headline(
                "throughput",
                [
                    Value("", bounded(processing, "records_per_s", rounded), "records/s"),
                    Value("", number(processing.get("mb_per_s"), 1), "MB/s"),
                ],
                f"{rounded(processing.get('records'))} records written before the engine started, in "
                f"{number(processing.get('seconds'), 1)} s; start-up {number(processing.get('startup_s'), 1)} s",
            )
        )
        return rows
    rows.append(
        Headline(
            "achieved rate",
            [Value("", number(rate.achieved, 1), "records/s")],
            f"of {rounded(rate.offered)} offered: {share(rate.achieved, rate.offered)}",
        )
    )
    return rows


def _answers_note(summary: Summary) -> str:
    if summary.validated is not False:
        return f"of {number(summary.results.get('expected'))} expected results"
    if summary.results.get("expected") is None:
        return "unvalidated: the script has no reference"
    return f"of {number(summary.results['expected'])} records; unvalidated: the answers were not checked"


def result_rows(source: Source) -> list[dict[str, str]]:
    """Every word for a result, in the order in which they add up."""
    results = source.summary.results
    expected = results.get("expected")
    return [
        {
            "word": kind,
            "count": number(results.get(kind)),
            "share": share(results.get(kind), expected),
            "means": means,
        }
        for kind, means in (RESULTS if source.summary.validated is not False else COMMITTED).items()
    ]


def latency_rows(source: Source) -> list[dict[str, Any]]:
    latencies = source.summary.latency_ms
    known = (*LATENCY_NAMES, *LATENCIES)
    kinds = [kind for kind in known if kind in latencies] + [kind for kind in latencies if kind not in known]
    rows, closed = [], source.summary.closed_loop
    for kind in kinds:
        values = source.summary.latency(kind)
        rows.append(
            {
                "kind": latency_name(kind),
                "means": CLOSED_LOOP if kind == "total" and closed else LATENCIES.get(kind, ""),
                "count": number(values.get("count")),
                "missing": number(values.get("missing")),
                "values": [bounded(values, name, partial(number, digits=1)) for name in PERCENTILES],
                "resolution": _resolution(source.summary.resolution_ms.get(kind, {})),
            }
        )
    return rows


def _resolution(known: Mapping[str, Any]) -> str:
    """What a latency is known to, part by part; a dash for a run that does not say."""
    if not known:
        return NONE
    parts = [f"{number(known.get('stamp'))} stamp"]
    if known.get("visible_max") != 0:
        at_worst = f"{number(known.get('visible_max'), 1)} at worst"
        parts.append(f"{number(known.get('visible_p50'), 1)} visibility polling ({at_worst})")
    if known.get("clock") != 0:
        parts.append(f"{number(known.get('clock'), 1)} clock bound")
    return " + ".join(parts)


def negative_latencies(source: Source) -> list[str]:
    """Kinds with results that came out before their inputs' stamps, each with how many: kept, and counted."""
    counts = {kind: int(counts[values < 0].sum()) for kind, (values, counts) in source.latency.items()}
    return [f"{number(count)} of {latency_name(kind)}" for kind, count in counts.items() if count]


def when_visible(source: Source) -> str:
    """From when results of transactions count, and how exactly that is known; empty without transactions."""
    known = source.summary.visible_resolution_ms
    if not known:
        return ""
    return (
        "The system writes in transactions: results count from when a reader of committed records could have them, "
        f"known to {number(known.get('p50'))} ms in the median and {number(known.get('max'))} ms at worst."
    )


def rate_rows(source: Source) -> list[tuple[str, str]]:
    """Of a preloaded run, how fast its input was processed."""
    if processing := source.summary.processing:
        return [
            ("throughput", throughput_words(source.summary) or NONE),
            ("", _with_unit(processing.get("mb_per_s"), "MB/s", 2)),
            ("records", number(processing.get("records"))),
            ("processed in", _with_unit(processing.get("seconds"), "s", 1)),
            ("start-up of the engine", _with_unit(processing.get("startup_s"), "s", 1)),
            ("written by the generator", _with_unit(processing.get("generated_per_s"), "records/s", 0)),
            ("served to a plain reader", _with_unit(processing.get("served_per_s"), "records/s", 0)),
        ]
    rate = source.summary.rate_per_s
    return [
        *(
            (name, _with_unit(value, unit, 1))
            for name, value, unit in (
                ("offered", rate.offered, "records/s"),
                ("achieved", rate.achieved, "records/s"),
                ("worst second", rate.worst_second, "records/s"),
                ("appended", rate.appended, "records/s"),
                ("output", rate.output, "results/s"),
            )
        ),
        ("achieved of offered", share(rate.achieved, rate.offered)),
    ]


def generator_rows(source: Source) -> list[dict[str, str]]:
    """What was measured of the load itself, each with its limit."""
    generator = source.summary.generator
    if generator is None:
        return []
    any_ms, most_ms = late_limits_ms(source)
    limits = (
        ("half of the records were later than", generator.late_p50_ms, None, "ms"),
        ("1 % of the records were later than", generator.late_p99_ms, most_ms, "ms"),
        ("latest record", generator.late_max_ms, any_ms, "ms"),
        ("delivery errors of the whole run", generator.errors, None, ""),
    )
    return [
        {
            "what": what,
            "value": _with_unit(value, unit, 2 if unit else 0),
            "limit": NONE if most is None else _with_unit(most, unit, 0),
            "verdict": _judged(value, most),
        }
        for what, value, most, unit in limits
    ]


def resource_rows(source: Source) -> list[dict[str, str]]:
    """A row for each group of processes and, where it has several, for each of them, by the names of the figures."""
    roles: dict[str, list[str]] = {}
    for sample in source.resources:
        of_group = roles.setdefault(sample.group, [])
        if sample.role not in of_group:
            of_group.append(sample.role)
    rows = []
    for group, usage in source.summary.resources.items():
        mine = roles.get(group, [])
        alone = mine[0] if len(mine) == 1 else "all"
        network = [_of_role(source, role) for role in mine]
        together = {name: _sum(one.get(name) for one in network) for name in ("received_mb", "sent_mb")}
        rows.append({"group": group, "process": alone, **_usage({**usage, **together})})
        if len(mine) > 1:
            rows += [
                {"group": group, "process": role, **_usage(used)} for role, used in zip(mine, network, strict=True)
            ]
    return rows


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def node_rows(source: Source) -> list[dict[str, str]]:
    """Of an engine with several nodes: what each received, and whether it read the input."""
    nodes = source.summary.nodes if len(source.summary.nodes) > 1 else ()
    words = {True: "yes", False: "no", None: "not known"}
    return [
        {
            "node": node.role,
            "received (MB)": number(node.received_mb, 1),
            "from the transport (MB)": number(node.from_transport_mb, 1),
            "reads the input": words[node.reads],
        }
        for node in nodes
    ]


def _usage(values: Mapping[str, Any]) -> dict[str, str]:
    digits = {"cpu_mean": 2, "rss_max_mb": 0, "heap_max_mb": 0, "gc_ms": 0, "received_mb": 1, "sent_mb": 1}
    return {field: number(values.get(field), places) for field, places in digits.items()}


def _of_role(source: Source, role: str) -> dict[str, float]:
    """What one process used in the main part of the run, by the same names as the summary has for its group."""
    main = source.main_phase
    mine = [sample for sample in source.resources if sample.role == role]
    if main is not None:
        mine = [sample for sample in mine if main.from_s <= source.since_start_s(sample.t_ns) <= main.to_s]

    def known(field: str) -> list[tuple[int, float]]:
        return [(sample.t_ns, value) for sample in mine if (value := getattr(sample, field)) is not None]

    used: dict[str, float] = {}
    if len(cpu := known("cpu_s")) > 1:
        used["cpu_mean"] = (cpu[-1][1] - cpu[0][1]) / ((cpu[-1][0] - cpu[0][0]) / NS_PER_S)
    for name in ("gc_ms", "received_mb", "sent_mb"):
        if len(grown := known(name)) > 1:
            used[name] = grown[-1][1] - grown[0][1]
    for name, field in (("rss_max_mb", "rss_mb"), ("heap_max_mb", "heap_used_mb")):
        if values := known(field):
            used[name] = max(value for _, value in values)
    return used


def machine_rows(source: Source) -> list[tuple[str, str]]:
    machine = source.manifest.machine
    rows = [
        ("system", " ".join(part for part in (machine.system, machine.kernel) if part) or NONE),
        ("processor", machine.cpu or NONE),
        ("cores", number(machine.cores)),
        ("memory", _with_unit(machine.memory_mb, "MB", 0)),
        ("load at start", number(machine.load_at_start, 2)),
    ]
    words = {
        True: "yes: the engine shares cores with transport or load",
        False: "no: the engine has its own",
        None: "not known",
    }
    rows.append(("shared cores", words[shared_cores(source.manifest, source.outcome)]))
    for field, name in (("cpu_busy", "busiest second"), ("steal", "most stolen by the host")):
        values = [value for sample in source.machine if (value := getattr(sample, field)) is not None]
        if values:
            rows.append((name, f"{number(100 * max(values), 1)} % of all cores"))
    return rows


def measured_on(manifest: Manifest, outcome: Outcome | None = None) -> str:
    """When and on which machine, in one line."""
    start_ns = outcome.load_start_ns if outcome is not None else None
    date = manifest.provenance.date if manifest.provenance is not None else None
    when = moment(datetime.fromtimestamp(start_ns / NS_PER_S, UTC).isoformat() if start_ns is not None else date)
    machine = manifest.machine
    parts = [machine.cpu, f"{number(machine.cores)} cores" if machine.cores else None]
    parts += [f"{number(machine.memory_mb)} MB of memory" if machine.memory_mb else None]
    where = ", ".join(part for part in parts if part)
    return " · ".join(part for part in ("" if when == NONE else f"measured {when}", where) if part)


def provenance_rows(source: Source) -> list[tuple[str, str]]:
    """Empty for a run of a version that did not record it."""
    provenance, machine = source.manifest.provenance, source.manifest.machine
    if provenance is None:
        return []
    git = provenance.git
    changed = ", with changes that are not committed" if git and git.dirty else ""
    return [
        ("date", provenance.date or NONE),
        ("streamgauge", source.manifest.tool or NONE),
        ("commit", f"{git.commit}{changed}" if git else "none: not run from a git checkout"),
        ("processor", machine.cpu or NONE),
        ("frequency governor", machine.governor or "not known"),
        ("container", machine.container or "none found"),
        ("variables not passed on", ", ".join(source.manifest.environment.removed) or "none"),
        ("packages", ", ".join(f"{name} {version}" for name, version in provenance.packages.items()) or NONE),
    ]


def clock_rows(source: Source) -> list[tuple[str, str]]:
    steps = [abs(step) for _, step in clock_steps_ms(source)]
    if not steps:
        return []
    rows = [
        ("largest step", f"{number(max(steps), 3)} ms"),
        ("warning / INVALID above", f"{CLOCK_WARNING_MS:g} ms / {CLOCK_LIMIT_MS:g} ms"),
        ("readings", number(len(steps) + 1)),
    ]
    bound = None if source.summary.clock is None else source.summary.clock.broker_offset_ms
    if bound is not None:
        low, high = (number(value, 2) for value in bound)
        rows.append(("transport's clock − load's clock", f"between {low} and {high} ms"))
    return rows


def _judged(value: Any, most: float | None) -> str:
    if most is None or not isinstance(value, int | float):
        return NONE
    return "over the limit" if value > most else "within"


def _with_unit(value: Any, unit: str, digits: int) -> str:
    shown = number(value, digits)
    return shown if shown == NONE or not unit else f"{shown} {unit}"


def attempt_rows(source: Source) -> list[dict[str, Any]]:
    """Every run of a set; before one that was repeated, its INVALID attempts. Empty for a single run."""
    rows: list[dict[str, Any]] = []
    for run in source.summary.repetitions:
        rows += [{**_attempt(attempt), "counts": "no, repeated"} for attempt in run.invalid_attempts]
        rows.append({**_attempt(run), "counts": "yes"})
    return rows


def _attempt(run: Repetition) -> dict[str, Any]:
    columns = {key: value for key, value in run.as_json().items() if key != "invalid_attempts"}
    return {_COLUMNS.get(key, key): value for key, value in columns.items()}


_COLUMNS = {
    "total_p50": f"{LATENCY_NAMES['total']}, p50 (ms)",
    "total_p99": f"{LATENCY_NAMES['total']}, p99 (ms)",
    "rate_output": "output (results/s)",
}
