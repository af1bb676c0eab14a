"""A user's script in the place of a workload."""

from __future__ import annotations

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Script
from streamgauge.studies import scenario as scenarios

SCRIPT = Script("/home/user/my.py", "0" * 64, ("id",), settles_s=7.0)


def test_the_load_goes_on_until_the_scripts_results_are_out() -> None:
    with_script = scenarios.resolve("ospbench/latency", changes={"trigger_ms": "1000"}, script=SCRIPT)
    assert with_script.script == SCRIPT
    assert with_script.load.tail_s == 7.0 + 2 * 1.0
    ours = scenarios.resolve("ospbench/latency")
    quick = scenarios.resolve("ospbench/latency", script=Script("/my.py", "0" * 64))
    assert quick.load == ours.load


def test_only_engines_that_take_a_script_are_given_one() -> None:
    with pytest.raises(UsageError, match="engine echo does not run scripts"):
        scenarios.resolve("ospbench/latency", engine="echo", script=SCRIPT)


def test_what_the_engine_cannot_do_with_the_stage_is_not_asked_of_the_script() -> None:
    changes = {"stage": "tumbling", "realtime": "true"}
    with pytest.raises(UsageError, match="does not run traffic/tumbling"):
        scenarios.resolve("ospbench/latency", changes=changes)
    assert scenarios.resolve("ospbench/latency", changes=changes, script=SCRIPT).chosen == "tumbling"


def test_a_workload_without_outputs_takes_no_script() -> None:
    with pytest.raises(UsageError, match="streambench/sink has no output"):
        scenarios.resolve("streambench/performance", changes={"program": "sink"}, script=SCRIPT)
