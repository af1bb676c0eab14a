"""Service-level objectives: ``latency.p99 < 2s``, ``backlog.slope < 1%``, ``results.lost == 0``.

``METRIC OPERATOR LIMIT``. A metric names a figure of the summary; the limit has a unit that fits it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.errors import UsageError, invalid, nearest
from streamgauge.evaluate.metrics.latency import PERCENTILES_PERMILLE
from streamgauge.metrics import METRICS, PERCENT
from streamgauge.model.summary import SloResult

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BELOW, _ABOVE = ("<", "<="), (">", ">=")
EXAMPLES = "latency.p99 < 2s, backlog.slope < 1%, results.lost == 0"
DECIMALS = 6

_TEXT = re.compile(r"([\w.]+)\s*([<>=!]+)\s*(-?\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z%/]*)", re.ASCII)


@dataclass(frozen=True)
class Slo:
    """One objective, as it was written and as it was understood."""

    text: str
    metric: str
    operator: str
    limit: float
    unit: str


def parse(text: str) -> Slo:
    """Understand one objective. Raises UsageError with what to write instead."""
    typed = f"--slo {text!r}"
    match = _TEXT.fullmatch(text.strip())
    if not match:
        raise invalid(typed, f"METRIC OPERATOR LIMIT, such as {EXAMPLES}")
    name, sign, limit, unit = match.groups()
    if name not in METRICS:
        near = nearest(name, METRICS, most=3)
        raise UsageError(
            f"invalid {typed}: unknown metric {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""),
            expected=f"METRIC OPERATOR LIMIT, such as {EXAMPLES}",
            hint="streamgauge list metrics",
        )
    if sign not in OPERATORS:
        raise invalid(typed, f"one of {' '.join(OPERATORS)} in place of {sign!r}")
    metric = METRICS[name]
    if unit not in metric.unit_names:
        units = ", ".join(unit or "no unit" for unit in metric.unit_names)
        raise UsageError(
            f"invalid {typed}: {name} cannot be compared with a number {f'in {unit}' if unit else 'that has no unit'}",
            expected=f"one of these units: {units}; such as {name} {sign} {metric.example}",
        )
    return Slo(text.strip(), name, sign, float(limit), unit)


def check(text: str) -> None:
    """Raises UsageError for an objective that is not understood, or that no run can meet."""
    if bound := _out_of_reach(slo := parse(text)):
        raise invalid(f"--slo {text!r}", f"an objective that a run can meet: {slo.metric} {bound}")


def _out_of_reach(slo: Slo) -> str | None:
    """Why no figure can meet the objective, or None."""
    metric = METRICS[slo.metric]
    low, high = ({"==": bound}.get(slo.operator, slo.operator) for bound in ("<=", ">="))
    if metric.lowest is not None and low in _BELOW and not OPERATORS[low](metric.lowest, slo.limit):
        return f"is never below {metric.lowest:g}"
    if metric.highest is not None and high in _ABOVE and not OPERATORS[high](metric.highest, slo.limit):
        return f"is never above {metric.highest:g}"
    return None


def judge(slo: Slo, summary: Mapping[str, Any]) -> SloResult:
    """What the summary says of it, value and limit in the unit of the objective.

    A figure that the run does not have is null, and the objective is missed; ``at_least`` is its lower bound, where
    results that never came leave it unknown. Where too few results leave a percentile unknown, the largest of them,
    ``at_most``, decides whether it is below the limit.
    """
    metric = METRICS[slo.metric]
    *group, name = metric.path
    value = _value(slo, summary, metric.path)
    at_least = _value(slo, summary, (*group, f"{name}_at_least"))
    unknown = value is None and at_least is None and name in PERCENTILES_PERMILLE
    at_most = _value(slo, summary, (*group, "max")) if unknown else None
    judged = at_most if slo.operator in _BELOW and value is None else value
    result = SloResult(
        slo=slo.text,
        value=None if value is None else _short(value),
        limit=_short(slo.limit),
        unit=slo.unit,
        passed=judged is not None and OPERATORS[slo.operator](_short(judged), slo.limit),
    )
    bounds = {"at_least": at_least, "at_most": at_most}
    return result.with_changes(**{key: _short(bound) for key, bound in bounds.items() if bound is not None})


def _value(slo: Slo, summary: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    metric = METRICS[slo.metric]
    value = _figure(summary, path)
    if value is None or slo.unit != PERCENT:
        return None if value is None else value / metric.units[slo.unit]
    if metric.percent and (share := _figure(summary, metric.percent)) is not None:
        return share
    whole = _figure(summary, metric.whole)
    return 100 * value / whole if whole else None


def _figure(summary: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    if path[0] in ("results", "backlog") and summary["results"]["expected"] == 0:
        return None  # the zeros of a run of which nothing was checked
    value: Any = summary
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def _short(value: float) -> float | int:
    """Without the noise of a division, so that what is shown is what was compared."""
    rounded = round(value, DECIMALS)
    return int(rounded) if rounded.is_integer() else rounded
