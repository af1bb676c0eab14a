"""A user's script instead of a workload."""

from __future__ import annotations

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Script
from streamgauge.studies import scenario as scenarios

SCRIPT = Script("/home/user/my.py", "0" * 64, ("id",), settles_s=7.0)


def test_the_load_continues_until_the_scripts_results_are_published() -> None:
    with_script = scenarios.resolve("ospbench/latency", changes={"trigger_ms": "1000"}, script=SCRIPT)
    assert with_script.script == SCRIPT
    assert with_script.load.tail_s == 7.0 + 2 * 1.0
    ours = scenarios.resolve("ospbench/latency")
    quick = scenarios.resolve("ospbench/latency", script=Script("/my.py", "0" * 64))
    assert quick.load == ours.load


def test_only_some_engines_support_scripts() -> None:
    with pytest.raises(UsageError, match="engine echo does not support scripts"):
        scenarios.resolve("ospbench/latency", engine="echo", script=SCRIPT)


def test_limits_of_the_stage_do_not_apply_to_the_script() -> None:
    changes = {"stage": "tumbling", "realtime": "true"}
    with pytest.raises(UsageError, match="does not run traffic/tumbling"):
        scenarios.resolve("ospbench/latency", changes=changes)
    assert scenarios.resolve("ospbench/latency", changes=changes, script=SCRIPT).chosen == "tumbling"


def test_a_script_gets_no_options_that_suit_a_stage() -> None:
    """It may need RocksDB, which the stages that come with streamgauge do without."""
    assert scenarios.resolve("ospbench/throughput").engine_options["state_store"] == "memory"
    assert scenarios.resolve("ospbench/throughput", script=SCRIPT).engine_options["state_store"] == "rocksdb"


def test_a_workload_without_outputs_does_not_support_scripts() -> None:
    with pytest.raises(UsageError, match="streambench/sink has no output"):
        scenarios.resolve("streambench/performance", changes={"program": "sink"}, script=SCRIPT)
