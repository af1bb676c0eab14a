"""Marks results that come near what this machine and this tool can show at all."""

from __future__ import annotations

from streamgauge.model.calibration import Calibration

NEAR = 0.2
"""Within this share of the floor or the ceiling."""


def warnings(
    calibration: Calibration | None,
    *,
    total_p50_ms: float | None,
    latest_p50_ms: float | None,
    rate_per_s: float | None,
) -> list[str]:
    """One sentence for each figure near the floor or the ceiling; none without a calibration of the machine."""
    if calibration is None:
        return []
    messages = []
    floors = {"total": calibration.floor_ms.total.p50, "latest": calibration.floor_ms.latest.p50}
    for kind, p50_ms in (("total", total_p50_ms), ("latest", latest_p50_ms)):
        floor_ms = floors[kind]
        if p50_ms is not None and floor_ms is not None and p50_ms <= floor_ms * (1 + NEAR):
            messages.append(
                f"the median {kind} latency, {p50_ms:g} ms, is near the floor of this machine, {floor_ms:g} ms: "
                "the engine may be faster than can be shown here"
            )
    ceiling_per_s = calibration.ceiling_per_s
    if rate_per_s is not None and rate_per_s >= ceiling_per_s * (1 - NEAR):
        messages.append(
            f"the rate, {rate_per_s:,.0f}/s, is near the ceiling of this machine, {ceiling_per_s:,.0f}/s: "
            "load and transport may limit it, not the engine"
        )
    return messages
