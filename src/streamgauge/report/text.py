"""Words and numbers as a person reads them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.model.summary import Summary

NONE = "–"

RESULTS = {
    "expected": "rows of the reference answer whose inputs arrived before the tail",
    "matched": "results with the correct value",
    "wrong": "results whose last value is not correct",
    "lost": "never written, although later results of the same partitions were, or the drain ended quiet",
    "unfinished": "not written yet when the drain's deadline ended the run",
    "duplicates": "correct values that were written again",
    "intermediate": "incorrect values that were followed by another",
    "reverted": "matched, but an incorrect value was written between two correct ones",
    "unexpected": "rows with a key that the reference answer does not have",
}

COMMITTED = {
    "expected": "records that arrived before the tail",
    "matched": "records that your program has committed",
    "lost": "never committed, although later records of the same partitions were, or the drain ended quiet",
    "unfinished": "not committed yet when the drain's deadline ended the run",
}
"""The same where answers are not checked."""

LATENCIES = {
    "arrival": "from the arrival of each record until its result can be read, mean over all records",
}
"""What a kind of latency means that the glossary does not define."""

CLOSED_LOOP = "closed loop: from when the last input was sent, as the load waited for acknowledgements"
"""What ``total`` means for a load without a schedule."""

INCLUDES_WAIT = "includes the wait for the engine: all input was written before it started"

STATES = {
    "steady": "the system kept up, and no drift of its latency was found",
    "drifting": "latency kept rising or falling: the run had not settled",
    "overloaded": "the system could not keep up with the offered rate",
}
"""For summaries of older versions, which do not say why themselves."""

VERDICTS = {
    "VALID": "the measurement can be trusted",
    "INVALID": "the measurement cannot be trusted",
    "FAILED": "the system under test died or gave wrong answers",
}
NOT_SETTLED = "the latency had not settled, so use a longer --warmup"
"""What is also said of a VALID run that was drifting."""
TRUSTED = "load, clock and answers can be trusted"
UNVALIDATED = "load, clock and transport can be trusted; the answers were not checked"
"""What VALID means for a script without a reference."""


def throughput_words(summary: Summary) -> str:
    """Of a run with preloaded input, whose latencies are mostly waiting; empty for others."""
    processing = summary.processing
    return f"{bounded(processing, 'records_per_s', number)} records/s" if processing.get("records_per_s") else ""


def number(value: Any, digits: int = 0) -> str:
    """With thousands separated; a dash for what is not known."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NONE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return plain(value)
    return f"{value:,.{digits}f}".replace("-", "−")


def bounded(figures: Mapping[str, Any], name: str, form: Callable[[Any], str]) -> str:
    """A figure, or its bounds where it is known only within them."""
    figure, at_least, at_most = (figures.get(name + end) for end in ("", "_at_least", "_at_most"))
    if at_least is not None:
        return f"≥ {form(at_least)}"
    return form(figure) if at_most is None else f"{form(figure)} to {form(at_most)}"


def rounded(value: Any) -> str:
    """About three figures: for headlines, where more would only pretend."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return number(value)
    size = abs(value)
    return number(value, 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2)


def share(part: Any, whole: Any) -> str:
    """A percentage that never rounds up to a full 100."""
    if not isinstance(part, int | float) or not isinstance(whole, int | float) or not whole:
        return NONE
    percent = 100 * part / whole
    digits = 2 if percent != int(percent) else 0
    if part < whole and f"{percent:.2f}" == "100.00":
        return "> 99.99 %"
    return f"{percent:,.{digits}f} %"


def plain(value: Any) -> str:
    """A manifest's value as it would be typed, free of Python's own spelling."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or NONE
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(plain(item) for item in value) or NONE
    return str(value) or NONE


def scaled(changes: Any) -> str:
    """What a profile changed: ``{"measured_s": [here, in the paper]}``."""
    if not isinstance(changes, Mapping):
        return plain(changes)
    parts = []
    for name, change in changes.items():
        if isinstance(change, list) and len(change) == 2:
            here, paper = (rounded(value) for value in change)
            parts.append(f"{name} {here} instead of {paper}")
        else:
            parts.append(f"{name} {plain(change)}")
    return ", ".join(parts)


def setting_name(name: str) -> str:
    """As it is set on the command line: ``rate_per_s`` for ``scenario.load.rate_per_s``."""
    return name.removeprefix(next((prefix for prefix in _PREFIXES if name.startswith(prefix)), ""))


_PREFIXES = ("engine.options.conf.", "engine.options.", "scenario.parameters.", "scenario.load.", "scenario.")


def moment(iso: str | None) -> str:
    """A date and time as a person reads it; what is not one stays as it is."""
    try:
        return datetime.fromisoformat(iso or "").astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return iso or NONE


def argv(value: Sequence[Any]) -> str:
    return shlex.join(str(part) for part in value)
