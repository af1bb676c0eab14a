"""Nodes of real clusters: which of them read the input, and the loss of one that does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from attempts import until_valid
from streamgauge.conformance.suite import Bench
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.samples import ResourceSample
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

Preloaded = Callable[..., tuple[RunDir, Summary]]


@pytest.fixture
def preloaded(shared: Bench) -> Preloaded:
    """A run with preloaded input that is spread over all nodes; an INVALID one is repeated."""

    def run(engine: str, *faults: str, **changes: str) -> tuple[RunDir, Summary]:
        settings = {"redistribute": "true", "drain_deadline_s": "180", **changes}
        scenario = scenarios.resolve("streambench/performance", engine=engine, changes=settings)
        scenario = replace(scenario, faults=tuple(parse_fault(fault) for fault in faults))

        def once(_: int) -> tuple[RunDir, Summary]:
            request = Request(scenario, shared.out(engine), transport_address=shared.transport_address)
            return run_scenario(request, NullReporter(), shared.evaluator)

        return until_valid(once, lambda done: done[1].verdict == "INVALID")

    return run


def readers(summary: Summary) -> list[str]:
    return [node.role for node in summary.nodes if node.reads]


@pytest.mark.full
@pytest.mark.engine("flink")
def test_results_survive_the_loss_of_a_node_that_does_not_read(preloaded: Preloaded) -> None:
    """Checkpoints are rare, so that Flink begins again after the fault however much it has done before: the drain must
    wait for that, although every record was read once and every result has come out."""
    run, summary = preloaded(
        "flink", "kill non-recipient at 2s", program="statistics", partitions="1", records="200000",
        taskmanagers="2", spare="1", checkpoint_ms="15000",
    )  # fmt: skip
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["lost"] == summary.results["unfinished"] == summary.results["wrong"] == 0
    assert summary.results["matched"] == summary.results["expected"] == 200_000
    assert [node.role for node in summary.nodes] == ["taskmanager-1", "taskmanager-2"]
    (reader,) = readers(summary)
    (fault,) = summary.faults
    assert fault.fault == "kill non-recipient at 2s" and fault.took_effect
    assert fault.role in {"taskmanager-1", "taskmanager-2"} - {reader}
    assert fault.acted_s >= 2.0 and fault.latency_back_s is None and fault.backlog_back_s is None
    assert summary.processing["seconds"] > fault.acted_s and fault.first_output_s is not None
    assert str(summary.guarantee).startswith("nothing lost")
    lines = [line for line in run.samples(ResourceSample) if line.role == reader]
    assert all(before.received_mb <= after.received_mb for before, after in itertools.pairwise(lines))


@pytest.mark.full
@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize(
    ("engine", "cluster"),
    [
        pytest.param("flink", {"taskmanagers": "2"}, marks=pytest.mark.engine("flink")),
        pytest.param("spark", {"cluster": "standalone", "workers": "2"}, marks=pytest.mark.engine("spark")),
        # Both instances read the repartition topic.
        pytest.param(
            "kafka-streams",
            {"instances": "2", "threads": "1", "redistribute": "false"},
            marks=pytest.mark.engine("kafka-streams"),
        ),
    ],
)
def test_as_many_nodes_read_as_there_are_partitions(
    engine: str, cluster: dict[str, str], partitions: int, preloaded: Preloaded
) -> None:
    _, summary = preloaded(engine, program="wordcount", partitions=str(partitions), records="200000", **cluster)
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["matched"] == summary.results["expected"]
    assert len(summary.nodes) == 2 and len(readers(summary)) == partitions


@pytest.mark.full
@pytest.mark.engine("spark")
def test_spark_survives_the_loss_of_a_worker_that_does_not_read(preloaded: Preloaded) -> None:
    """Twelve batches, each two seconds after the one before: the input lasts, however fast the machine is."""
    _, summary = preloaded(
        "spark", "kill non-recipient at 14s", program="wordcount", partitions="1", records="600000",
        batch_records="50000", trigger_ms="2000", cluster="standalone", workers="2",
    )  # fmt: skip
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["lost"] == summary.results["wrong"] == summary.results["unfinished"] == 0
    (reader,) = readers(summary)
    assert summary.faults[0].role in {"worker-1", "worker-2"} - {reader}
