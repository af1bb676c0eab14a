"""Which nodes read the input: worked by hand (docs/reference/measurement.md, *Nodes*)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tallies import START_NS, facts
from written_runs import manifest

from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import nodes
from streamgauge.model import NS_PER_S
from streamgauge.model.nodes import reading
from streamgauge.model.outcome import FaultRecord
from streamgauge.model.samples import ResourceSample

WORKERS = (
    {"role": "master", "group": "engine"},
    {"role": "worker-1", "group": "engine", "members": ["executor-1"], "node": True},
    {"role": "worker-2", "group": "engine", "members": ["executor-2"], "node": True},
)


@pytest.mark.parametrize(
    ("received", "readers"),
    [
        # Three nodes and 60 MB: an equal share is 20 MB, a tenth of it 2 MB.
        ({"a": 57.0, "b": 2.0, "c": 1.0}, {"a", "b"}),
        ({"a": 57.0, "b": 1.9, "c": 1.1}, {"a"}),
        # Two nodes and 12 MB: an equal share is 6 MB, a tenth of it 0.6 MB.
        ({"a": 11.4, "b": 0.6}, {"a", "b"}),
        ({"a": 11.41, "b": 0.59}, {"a"}),
        ({"a": 0.0, "b": 0.1}, {"b"}),
        ({"a": 5.0}, {"a"}),
    ],
)
def test_who_reads(received: Mapping[str, float], readers: set[str]) -> None:
    assert reading(received) == readers


@pytest.mark.parametrize("received", [{}, {"a": 0.0, "b": 0.0}])
def test_where_nothing_was_received_nobody_is_known_to_read(received: Mapping[str, float]) -> None:
    assert reading(received) is None


def sample(second: float, role: str, received_mb: float | None, from_transport_mb: float | None) -> ResourceSample:
    t_ns = START_NS + round(second * NS_PER_S)
    return ResourceSample(
        t_ns=t_ns, role=role, group="engine", received_mb=received_mb, from_transport_mb=from_transport_mb
    )


def measured(
    samples: Sequence[ResourceSample], processes: Any = WORKERS, shape: Any = "constant", **changes: Any
) -> list[dict[str, Any]]:
    """Measured from second 1 to second 21; the drain ends at second 27."""
    described, moments = facts(measured_s=20.0)
    content = manifest().as_json() | {"processes": processes}
    known = Facts(
        manifest=type(described.manifest).model_validate(content),
        outcome=described.outcome.model_copy(update=changes),
        plan=replace(described.plan, shape=shape),
        streams=described.streams,
        moments=moments,
    )
    return [node.as_json() for node in nodes.measure(known, moments, samples)]


def test_a_node_is_its_role_and_its_members_while_the_engine_worked() -> None:
    samples = [
        *(sample(0.9, role, 1.0, 1.0) for role in ("worker-1", "executor-1", "worker-2", "executor-2")),
        sample(10, "executor-2", 5.0, 1.2),  # killed afterwards
        sample(20.9, "worker-1", 1.5, 1.0),
        sample(20.9, "executor-1", 13.0, 12.4),
        sample(22.0, "executor-1", 99.0, 99.0),
    ]
    assert measured(samples) == [
        {"role": "worker-1", "received_mb": 12.5, "from_transport_mb": 11.4, "reads": True},
        {"role": "worker-2", "received_mb": 4.0, "from_transport_mb": 0.2, "reads": False},
    ]


def test_a_sum_begins_at_zero() -> None:
    samples = [sample(5, "worker-1", 3.0, 2.0), sample(5, "worker-2", 1.0, 1.0)]
    assert [node["received_mb"] for node in measured(samples)] == [3.0, 1.0]


def test_preloaded_input_may_be_read_before_the_engine_is_usable() -> None:
    """All of it was there when the engine was started, at second 22."""
    samples = [
        sample(21.5, "worker-1", 0.0, 0.0),
        sample(22.5, "worker-1", 8.0, 8.0),
        sample(26.0, "worker-1", 9.0, 9.0),
        sample(26.0, "worker-2", 1.0, 0.001),
    ]
    at_ns = {"engine_start_ns": START_NS + 22 * NS_PER_S, "engine_ready_ns": START_NS + 25 * NS_PER_S}
    assert [(one["from_transport_mb"], one["reads"]) for one in measured(samples, shape="preloaded", **at_ns)] == [
        (9.0, True),
        (0.001, False),
    ]


def test_what_a_process_reports_of_its_partitions_counts_more_than_what_it_received() -> None:
    """An instance of Kafka Streams that has no input reads repartition topics through the same broker."""
    samples = [sample(20, f"worker-{number}", 9.0, 9.0) for number in (1, 2)]
    assert [one["reads"] for one in measured(samples)] == [True, True]
    assert [one["reads"] for one in measured(samples, assigned={"worker-1": 2, "worker-2": 0})] == [True, False]
    assert [one["reads"] for one in measured([], assigned={"worker-1": 2, "worker-2": 0})] == [True, False]
    assert [one["reads"] for one in measured(samples, assigned={"worker-2": 0})] == [True, False]


def test_where_it_was_not_measured() -> None:
    unknown = {"received_mb": None, "from_transport_mb": None, "reads": None}
    assert measured([sample(5, "worker-1", None, None)]) == [
        {"role": "worker-1", **unknown},
        {"role": "worker-2", **unknown},
    ]
    (first, second) = measured([sample(5, "worker-1", 3.0, None), sample(5, "worker-2", 1.0, None)])
    assert (first["received_mb"], first["reads"], second["reads"]) == (3.0, None, None)
    assert measured([sample(5, "engine", 1.0, 1.0)], processes=[{"role": "engine", "group": "engine"}]) == []


@pytest.mark.parametrize(
    ("fault", "role", "warned"),
    [
        ("kill worker-2 at 5s", "worker-2", ["worker-2 had read no input when the fault 'kill worker-2 at 5s' acted"]),
        ("kill worker-1 at 5s", "worker-1", []),
        ("kill non-recipient at 5s", "worker-2", []),
        ("kill master at 5s", "master", []),
    ],
)
def test_a_fault_on_a_node_that_had_read_nothing(fault: str, role: str, warned: list[str]) -> None:
    """Until second 6, worker-1 has read everything; afterwards worker-2 does."""
    described, _ = facts(measured_s=20.0)
    record = FaultRecord(
        fault=fault,
        number=1,
        verb="kill",
        role=role,
        planned_ns=START_NS + 6 * NS_PER_S,
        acted_ns=START_NS + 6 * NS_PER_S,
        ended_ns=START_NS + 6 * NS_PER_S,
        took_effect=True,
        why_not=None,
    )
    content = manifest().as_json() | {"processes": WORKERS}
    known = replace(
        described,
        manifest=type(described.manifest).model_validate(content),
        outcome=described.outcome.model_copy(update={"faults": [record]}),
    )
    samples = [
        *(sample(5, role, read, read) for role, read in (("executor-1", 10.0), ("executor-2", 0.1))),
        *(sample(20, role, read, read) for role, read in (("executor-1", 10.0), ("executor-2", 30.0))),
    ]
    assert [text.partition(":")[0] for text in nodes.idle_warnings(known, samples)] == warned
    assert nodes.idle_warnings(known, []) == [], "not known"
    nothing = [sample(5, role, 0.0, 0.0) for role in ("executor-1", "executor-2")]
    of_a_node = role.startswith("worker") and role in fault.split()
    assert len(nodes.idle_warnings(known, nothing)) == of_a_node, "no node had read anything"
