"""A reader's own job in the place of a stage."""

from __future__ import annotations

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import JobFile
from streamgauge.studies import scenario as scenarios

JOB = JobFile("/home/reader/my.py", "0" * 64, ("id",), settles_s=7.0)


def test_the_load_goes_on_until_the_jobs_results_are_out() -> None:
    with_job = scenarios.resolve("ospbench/latency", changes={"trigger_ms": "1000"}, job=JOB)
    assert with_job.job == JOB
    assert with_job.load.tail_s == 7.0 + 2 * 1.0
    ours = scenarios.resolve("ospbench/latency")
    quick = scenarios.resolve("ospbench/latency", job=JobFile("/my.py", "0" * 64))
    assert quick.load == ours.load


def test_only_engines_that_take_a_job_are_given_one() -> None:
    with pytest.raises(UsageError, match="engine echo takes no job file"):
        scenarios.resolve("ospbench/latency", engine="echo", job=JOB)


def test_what_the_engine_cannot_do_with_the_stage_is_not_asked_of_the_job() -> None:
    changes = {"stage": "tumbling", "realtime": "true"}
    with pytest.raises(UsageError, match="does not run traffic/tumbling"):
        scenarios.resolve("ospbench/latency", changes=changes)
    assert scenarios.resolve("ospbench/latency", changes=changes, job=JOB).chosen == "tumbling"


def test_a_workload_without_outputs_takes_no_job() -> None:
    with pytest.raises(UsageError, match="streambench/sink has no output"):
        scenarios.resolve("streambench/performance", changes={"program": "sink"}, job=JOB)
