"""How long the probes of a search last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamgauge.campaigns.probes import lengths_s
from streamgauge.model import Scenario, Script
from streamgauge.studies import scenario as scenarios


def without_windows(measured_s: float, rule: str = "slope") -> Scenario:
    changes = {"stage": "parse", "measured_s": str(measured_s), "sustained": rule}
    return scenarios.resolve("ospbench/throughput", engine="echo", changes=changes)


@pytest.mark.parametrize(
    ("measured_s", "purpose", "rule", "lengths"),
    [
        (30.0, "bracket", "slope", (30.0, 30.0, 60.0)),
        (30.0, "confirm", "slope", (30.0, 60.0, 60.0)),
        (6.0, "bisect", "slope", (6.0, 6.0, 12.0)),
        (120.0, "bracket", "slope", (30.0, 30.0, 120.0)),
        # It compares two times 30 s, whatever is asked for.
        (30.0, "bracket", "scalability", (30.0, 60.0, 60.0)),
        (6.0, "confirm", "scalability", (6.0, 60.0, 60.0)),
    ],
)
def test_how_long_a_probe_lasts(
    measured_s: float, purpose: Any, rule: str, lengths: tuple[float, float, float]
) -> None:
    assert lengths_s(without_windows(measured_s, rule), purpose) == lengths


@pytest.mark.parametrize(
    ("measured_s", "window_s", "lengths"),
    [
        ("16", "8", (16.0, 16.0, 32.0)),
        ("60", "60", (30.0, 60.5, 60.5)),
        ("300", "60", (30.0, 60.5, 300.0)),
        ("6", "8", (6.0, 8.5, 12.0)),
    ],
)
def test_a_probe_lasts_until_a_window_has_ended(
    measured_s: str, window_s: str, lengths: tuple[float, float, float]
) -> None:
    windows = {"measured_s": measured_s, "window_s": window_s, "slide_s": window_s}
    scenario = scenarios.resolve("sustainable/aggregation", engine="flink", changes=windows)
    assert lengths_s(scenario, "bracket") == lengths
    assert lengths_s(scenario, "confirm") == (lengths[0], lengths[2], lengths[2])


def test_a_script_states_how_long_its_windows_are() -> None:
    scenario = replace(without_windows(30.0), script=Script("my.py", "1a2b", settles_s=61.0))
    assert lengths_s(scenario, "bracket") == (30.0, 61.0, 61.0)
