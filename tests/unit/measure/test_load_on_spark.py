"""A load on Spark: what is refused before anything is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.measure import faults
from streamgauge.measure.plan import Request, draw
from streamgauge.studies import scenario as scenarios


def plan(fault: str, out: Path) -> None:
    scenario = scenarios.resolve("ospbench/latency", engine="echo")
    scenario = replace(scenario, faults=(faults.parse(fault),))
    draw(Request(scenario, out / "out", load_master="spark://127.0.0.1:7077"), "run", out)


@pytest.mark.parametrize("verb", ["cut load from broker", "pause load"])
def test_only_the_driver_is_here_and_can_be_killed(verb: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"does not support a {verb.split()[0]} of load(.|\n)*'kill load …'"):
        plan(f"{verb} for 1s at 3s", tmp_path)
    plan("kill load at 3s", tmp_path)
