"""How exactly each latency is known: by the stamps, by the looks at a transactional output, and by two clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from streamgauge.evaluate.metrics.clock import Bound
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.notices import Notice, notice

STAMP_MS = 1.0
"""Both moments of a latency are cut to whole milliseconds."""
CLOCK_SHARE = 0.2
"""Of the median: clocks that are known less exactly than this make it a rough figure."""
TRANSPORT_STAMPED = ("latest", "average")
"""Latencies that begin with a stamp of the transport's clock; ``total`` begins with one of the load worker's."""


@dataclass(frozen=True)
class Resolution:
    """Of one latency, in milliseconds. None: not known."""

    stamp: float = STAMP_MS
    visible_p50: float | None = 0.0
    """How much too late results may have been stamped as visible; 0 where the transport's own stamp counts."""
    visible_max: float | None = 0.0
    clock: float | None = 0.0
    """The width of the bound between the clocks of its two moments; 0 where both are of one clock."""


def measure(bound: Bound | None, visible_ms: Mapping[str, float | None] | None) -> dict[str, Resolution]:
    """The resolution of each latency. ``visible_ms`` is that of results that were stamped when they became visible."""
    resolution = Resolution()
    if visible_ms is not None:
        resolution = Resolution(visible_p50=visible_ms["p50"], visible_max=visible_ms["max"])
    apart = None if bound is None else max(bound.high_ms - bound.low_ms, 0.0)
    # What became visible was stamped by the clock of the load worker's machine, all else by the transport's.
    crosses_clocks = {"total": visible_ms is None, **dict.fromkeys(TRANSPORT_STAMPED, visible_ms is not None)}
    by_kind = {kind: replace(resolution, clock=apart if crosses else 0.0) for kind, crosses in crosses_clocks.items()}
    # total − latest: when a result came out is in neither.
    return {**by_kind, "generator_share": Resolution(clock=apart)}


def figures(resolutions: Mapping[str, Resolution]) -> dict[str, dict[str, float | None]]:
    """As in the summary."""
    return {
        kind: {name: None if value is None else round(value, 3) for name, value in asdict(resolution).items()}
        for kind, resolution in resolutions.items()
    }


def warnings(
    resolutions: Mapping[str, Resolution],
    latencies: Mapping[str, Distribution],
    unknown_kinds: Iterable[str],
    server: str,
) -> list[Notice]:
    """The medians for which the clocks are not known exactly enough. ``server`` is what the transport calls it."""
    messages = []
    for kind in ("total", "latest"):
        clock_ms, p50_ms = resolutions[kind].clock, latencies[kind].percentile(500)
        if kind in unknown_kinds or not clock_ms or p50_ms is None or clock_ms <= CLOCK_SHARE * p50_ms:
            continue
        messages.append(
            notice(
                "clock-offset-unsure",
                server=server,
                clock_ms=clock_ms,
                limit=100 * CLOCK_SHARE,
                kind=LATENCY_NAMES[kind],
                p50_ms=p50_ms,
            )
        )
    return messages
