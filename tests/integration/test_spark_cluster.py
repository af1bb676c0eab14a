"""Spark on a standalone cluster of real processes: its answers, its roles, and the loss of an executor."""

from __future__ import annotations

import pytest
from driving import Measure

from attempts import until_valid
from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import Bench, observe
from streamgauge.model.samples import ResourceSample

pytestmark = [pytest.mark.full, pytest.mark.engine("spark")]

CLUSTER = {"cluster": "standalone", "workers": "2", "drain_deadline_s": "180"}
ROLES = {"master", "worker-1", "worker-2", "executor-1", "executor-2", "driver"}


def test_a_cluster_conforms(shared: Bench) -> None:
    observed = until_valid(
        lambda _: observe(shared, registry.engine("spark"), "streambench/wordcount", (), CLUSTER, attempts=1),
        lambda observed: observed.summary.verdict == "INVALID",
    )
    problems = {check.__name__: check(observed) for check in checks.observed_checks(observed.delivery)}
    assert {name: problem for name, problem in problems.items() if problem} == {}
    assert {ended.role for ended in observed.ended} == ROLES - {"executor-1", "executor-2"}


def test_results_survive_the_loss_of_an_executor(measure: Measure) -> None:
    run, summary = measure(
        "spark", faults=("kill executor-1 at 40%",), stage="ingest", measured_s=30, warmup_s=20, **CLUSTER
    )
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["lost"] == summary.results["unfinished"] == 0
    (record,) = run.outcome().faults
    assert record.took_effect and record.why_not is None
    assert not any("ended unexpectedly" in warning for warning in run.outcome().warnings)
    used = {role: [line for line in run.samples(ResourceSample) if line.role == role] for role in ROLES}
    assert all(lines[-1].cpu_s > 0 for lines in used.values())
    assert used["executor-1"][-1].heap_used_mb is not None, "its Worker has started another one"
    assert (run.path / "logs" / "executor-1.log").stat().st_size > 0
