"""The figures of a summary by name, for objectives (``--slo``) and exhibits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.model import TRANSPORT_GROUP

PERCENT = "%"

_TIME = {"ms": 1.0, "s": 1000.0, "m": 60_000.0}
_RATE = {"/s": 1.0, "": 1.0}
_MEMORY = {"MB": 1.0}
_PLAIN = {"": 1.0}


@dataclass(frozen=True)
class Metric:
    """The location of a figure in the summary, and the accepted units, each as a multiple of the summary's unit."""

    path: tuple[str, ...]
    units: Mapping[str, float]
    whole: tuple[str, ...] = ()
    """The figure that 100 % refers to, if the limit is given in per cent."""
    example: str = "10"
    percent: tuple[str, ...] = ()
    """The location of the share itself, which may exceed the quotient of the two figures."""
    lowest: float | None = 0.0
    highest: float | None = None
    """Between which every figure of this kind lies, in the summary's unit."""

    @property
    def unit_names(self) -> list[str]:
        return [*self.units, *([PERCENT] if self.whole else [])]


def _metrics() -> dict[str, Metric]:
    metrics = {}
    for figure in ("p50", "p90", "p99", "p999", "max", "mean"):
        metrics[f"latency.{figure}"] = Metric(("latency_ms", "total", figure), _TIME, example="2s")
        for kind in ("total", "latest", "average", "processing_time"):
            metrics[f"latency.{kind}.{figure}"] = Metric(("latency_ms", kind, figure), _TIME, example="2s")
    metrics["latency.arrival.mean"] = Metric(("latency_ms", "arrival", "mean"), _TIME, example="2s")
    offered, expected = ("rate_per_s", "offered"), ("results", "expected")
    slope = ("backlog", "slope_per_s")
    metrics["backlog.slope"] = Metric(slope, _RATE, offered, "1%", percent=("backlog", "slope_percent"), lowest=None)
    metrics["backlog.end"] = Metric(("backlog", "end"), _PLAIN, example="1000")
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
        metrics[f"results.{count}"] = Metric(("results", count), _PLAIN, expected, "0")
    for rate in ("offered", "achieved", "worst_second", "appended", "output"):
        metrics[f"rate.{rate}"] = Metric(("rate_per_s", rate), _RATE, offered, "400/s")
    metrics["processing.records_per_s"] = Metric(("processing", "records_per_s"), _RATE, example="100000/s")
    metrics["processing.mb_per_s"] = Metric(("processing", "mb_per_s"), {"MB/s": 1.0, "": 1.0}, example="10MB/s")
    metrics["durability.index"] = Metric(("durability", "index"), _PLAIN, example="0.999", highest=1.0)
    metrics["durability.failed_rate"] = Metric(("durability", "failed_rate"), _PLAIN, example="0.001", highest=1.0)
    metrics["durability.longest_gap"] = Metric(("durability", "longest_gap_s"), {"s": 1.0}, example="10s")
    for late in ("late_p50", "late_p99", "late_max"):
        metrics[f"generator.{late}"] = Metric(("generator", f"{late}_ms"), _TIME, example="20ms")
    metrics["generator.errors"] = Metric(("generator", "errors"), _PLAIN, example="0")
    for group in ("engine", TRANSPORT_GROUP, "load"):
        metrics[f"resources.{group}.cpu_mean"] = Metric(("resources", group, "cpu_mean"), _PLAIN, example="1.5")
        for memory in ("rss_max", "heap_max"):
            path = ("resources", group, f"{memory}_mb")
            metrics[f"resources.{group}.{memory}"] = Metric(path, _MEMORY, example="2000MB")
    return metrics


METRICS: Mapping[str, Metric] = _metrics()
