"""Results near the floor or the ceiling of the machine are marked."""

from __future__ import annotations

import pytest

from streamgauge.evaluate.calibration import warnings
from streamgauge.model.calibration import Calibration

CONTENT = {
    "scenario": "a/b",
    "at": "2026-01-01",
    "floor_ms": {"total": {"p50": 5.0, "p99": 9.0}, "latest": {"p50": 3.0, "p99": None}},
    "ceiling_per_s": 100_000.0,
}
CALIBRATION = Calibration.model_validate(CONTENT)


@pytest.mark.parametrize(
    ("total_ms", "latest_ms", "rate", "marked"),
    [
        (6.0, 100.0, 400.0, ["end-to-end"]),
        (6.1, 3.5, 400.0, ["processing"]),
        (6.1, 3.7, 79_999.0, []),
        (None, None, 80_000.0, ["ceiling"]),
        (None, None, None, []),
        (1.0, 1.0, 200_000.0, ["end-to-end", "processing", "ceiling"]),
    ],
)
def test_marks(total_ms: float | None, latest_ms: float | None, rate: float | None, marked: list[str]) -> None:
    messages = warnings(CALIBRATION, total_p50_ms=total_ms, latest_p50_ms=latest_ms, rate_per_s=rate)
    assert len(messages) == len(marked)
    assert all(mark in sentence for mark, sentence in zip(marked, messages, strict=True))


def test_a_machine_without_calibration() -> None:
    assert warnings(None, total_p50_ms=0.1, latest_p50_ms=0.1, rate_per_s=1e9) == []


def test_a_floor_that_is_not_known() -> None:
    floors = {kind: {"p50": None, "p99": None} for kind in ("total", "latest")}
    unknown = Calibration.model_validate({**CONTENT, "floor_ms": floors})
    assert warnings(unknown, total_p50_ms=1.0, latest_p50_ms=1.0, rate_per_s=10.0) == []
