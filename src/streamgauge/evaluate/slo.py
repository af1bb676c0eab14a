"""Service-level objectives: ``latency.p99 < 2s``, ``backlog.slope < 1%``, ``results.lost == 0``.

``METRIC OPERATOR LIMIT``. A metric names a figure of the summary; the limit has a unit that fits it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge import registry
from streamgauge.errors import UsageError

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
EXAMPLES = "latency.p99 < 2s, backlog.slope < 1%, results.lost == 0"
PERCENT = "%"
DECIMALS = 6

_TEXT = re.compile(r"([\w.]+)\s*([<>=!]+)\s*(-?\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z%/]*)", re.ASCII)

_TIME = {"ms": 1.0, "s": 1000.0, "m": 60_000.0}
_RATE = {"/s": 1.0, "": 1.0}
_MEMORY = {"MB": 1.0}
_PLAIN = {"": 1.0}


@dataclass(frozen=True)
class Metric:
    """Where the summary has the figure, and the units it may be given in, each as so many of the summary's own."""

    path: tuple[str, ...]
    units: Mapping[str, float]
    whole: tuple[str, ...] = ()
    """What it is a share of, where the limit is given in per cent."""
    example: str = "10"
    percent: tuple[str, ...] = ()
    """Where the summary has the share itself, which may be more than the one divided by the other."""

    @property
    def unit_names(self) -> list[str]:
        return [*self.units, *([PERCENT] if self.whole else [])]


@dataclass(frozen=True)
class Slo:
    """One objective, as it was written and as it was understood."""

    text: str
    metric: str
    operator: str
    limit: float
    unit: str


def _metrics() -> dict[str, Metric]:
    found = {}
    for figure in ("p50", "p90", "p99", "p999", "max", "mean"):
        found[f"latency.{figure}"] = Metric(("latency_ms", "total", figure), _TIME, example="2s")
        for kind in ("total", "latest", "average"):
            found[f"latency.{kind}.{figure}"] = Metric(("latency_ms", kind, figure), _TIME, example="2s")
    offered, expected = ("rate_per_s", "offered"), ("results", "expected")
    slope = ("backlog", "slope_per_s")
    found["backlog.slope"] = Metric(slope, _RATE, offered, "1%", percent=("backlog", "slope_percent"))
    found["backlog.end"] = Metric(("backlog", "end"), _PLAIN, example="1000")
    for count in (
        "expected",
        "matched",
        "wrong",
        "lost",
        "unfinished",
        "duplicates",
        "intermediate",
        "reverted",
        "unexpected",
    ):
        found[f"results.{count}"] = Metric(("results", count), _PLAIN, expected, "0")
    for rate in ("offered", "achieved", "worst_second", "appended", "output"):
        found[f"rate.{rate}"] = Metric(("rate_per_s", rate), _RATE, offered, "400/s")
    for late in ("late_p50", "late_p99", "late_max"):
        found[f"generator.{late}"] = Metric(("generator", f"{late}_ms"), _TIME, example="20ms")
    found["generator.errors"] = Metric(("generator", "errors"), _PLAIN, example="0")
    for group in ("engine", "broker", "load"):
        found[f"resources.{group}.cpu_mean"] = Metric(("resources", group, "cpu_mean"), _PLAIN, example="1.5")
        for memory in ("rss_max", "heap_max"):
            path = ("resources", group, f"{memory}_mb")
            found[f"resources.{group}.{memory}"] = Metric(path, _MEMORY, example="2000MB")
    return found


METRICS: Mapping[str, Metric] = _metrics()


def parse(text: str) -> Slo:
    """Understand one objective. Raises UsageError with what to write instead."""
    found = _TEXT.fullmatch(text.strip())
    if not found:
        raise UsageError(
            "an objective (SLO) cannot be read",
            got=repr(text),
            expected=f"METRIC OPERATOR LIMIT, e.g. {EXAMPLES}",
        )
    name, sign, limit, unit = found.groups()
    if name not in METRICS:
        raise registry.unknown("metric of an objective (SLO)", name, METRICS, hint=f"e.g. {EXAMPLES}")
    if sign not in OPERATORS:
        raise UsageError(
            "an objective (SLO) has an unknown operator",
            where=repr(text),
            got=repr(sign),
            expected=f"one of {' '.join(OPERATORS)}",
        )
    metric = METRICS[name]
    if unit not in metric.unit_names:
        units = ", ".join(unit or "no unit" for unit in metric.unit_names)
        raise UsageError(
            f"{name} cannot be compared with a number {f'in {unit}' if unit else 'that has no unit'}",
            where=repr(text),
            got=f"{limit}{unit}",
            expected=f"{units}: e.g. {name} {sign} {metric.example}",
        )
    return Slo(text.strip(), name, sign, float(limit), unit)


def judge(slo: Slo, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the summary says of it, value and limit in the unit of the objective.

    A figure that the run does not have is null, and the objective is missed; ``at_least`` is its lower bound, where
    results that never came leave it unknown.
    """
    value = _value(slo, summary)
    at_least = _value(slo, summary, "_at_least")
    return {
        "slo": slo.text,
        "value": None if value is None else _short(value),
        **({} if at_least is None else {"at_least": _short(at_least)}),
        "limit": _short(slo.limit),
        "unit": slo.unit,
        "passed": value is not None and OPERATORS[slo.operator](_short(value), slo.limit),
    }


def _value(slo: Slo, summary: Mapping[str, Any], suffix: str = "") -> float | None:
    metric = METRICS[slo.metric]
    *group, name = metric.path
    value = _figure(summary, (*group, name + suffix))
    if value is None or slo.unit != PERCENT:
        return None if value is None else value / metric.units[slo.unit]
    if metric.percent and (share := _figure(summary, metric.percent)) is not None:
        return share
    whole = _figure(summary, metric.whole)
    return 100 * value / whole if whole else None


def _figure(summary: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    if path[0] in ("results", "backlog") and summary["results"]["expected"] == 0:
        return None  # the zeros of a run of which nothing was checked
    found: Any = summary
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return None if found is None else float(found)


def _short(value: float) -> float | int:
    """Without the noise of a division, so that what is shown is what was compared."""
    rounded = round(value, DECIMALS)
    return int(rounded) if rounded.is_integer() else rounded
