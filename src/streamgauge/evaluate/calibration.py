"""Marks results that come near what this machine and this tool can show at all."""

from __future__ import annotations

from streamgauge.model.calibration import Calibration
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.notices import Notice, notice

NEAR = 0.2
"""Within this share of the floor or the ceiling."""


def warnings(
    calibration: Calibration | None,
    *,
    total_p50_ms: float | None,
    latest_p50_ms: float | None,
    rate_per_s: float | None,
) -> list[Notice]:
    """One sentence for each figure near the floor or the ceiling; none without a calibration of the machine."""
    if calibration is None:
        return []
    messages = []
    floors = {"total": calibration.floor_ms.total.p50, "latest": calibration.floor_ms.latest.p50}
    for kind, p50_ms in (("total", total_p50_ms), ("latest", latest_p50_ms)):
        floor_ms = floors[kind]
        if p50_ms is not None and floor_ms is not None and p50_ms <= floor_ms * (1 + NEAR):
            messages.append(notice("near-floor", kind=LATENCY_NAMES[kind], p50_ms=p50_ms, floor_ms=floor_ms))
    ceiling_per_s = calibration.ceiling_per_s
    if rate_per_s is not None and rate_per_s >= ceiling_per_s * (1 - NEAR):
        messages.append(notice("near-ceiling", rate_per_s=rate_per_s, ceiling_per_s=ceiling_per_s))
    return messages
