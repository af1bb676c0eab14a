"""What each node of the engine received while the engine worked, and whether it read the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.model.manifest import ProcessDescription
from streamgauge.model.nodes import reading
from streamgauge.model.samples import ResourceSample
from streamgauge.model.summary import NodeFigures
from streamgauge.notices import Notice, notice

DECIMALS = 3


def measure(facts: Facts, moments: Moments, samples: Sequence[ResourceSample]) -> list[NodeFigures]:
    """One entry per node, in the order of the plan; empty for an engine that names none."""
    nodes = [process for process in facts.manifest.processes if process.node]
    span_ns = _working_ns(facts, moments)
    received = {node.role: _growth(node, "received_mb", samples, span_ns) for node in nodes}
    from_transport = {node.role: _growth(node, "from_transport_mb", samples, span_ns) for node in nodes}
    readers, assigned = _readers(from_transport), facts.outcome.assigned
    return [
        NodeFigures(
            role=node.role,
            received_mb=received[node.role],
            from_transport_mb=from_transport[node.role],
            reads=bool(assigned[node.role]) if node.role in assigned else _is_among(readers, node.role),
        )
        for node in nodes
    ]


def idle_warnings(facts: Facts, samples: Sequence[ResourceSample]) -> list[Notice]:
    """Faults that name a node which had read nothing until then: it may have had nothing to lose."""
    nodes = [process for process in facts.manifest.processes if process.node]
    roles = {node.role for node in nodes}
    warnings = []
    for record in facts.outcome.faults:
        # `kill non-recipient` asks for such a node.
        if record.role not in roles or record.role not in record.fault.split() or record.acted_ns is None:
            continue
        received = {node.role: _growth(node, "from_transport_mb", samples, (0, record.acted_ns)) for node in nodes}
        # Also where no node had read anything: then it is not known who would have.
        if None not in received.values() and record.role not in (_readers(received) or ()):
            warnings.append(notice("fault-on-idle-node", role=record.role, fault=record.fault))
    return warnings


def _readers(from_transport: Mapping[str, float | None]) -> frozenset[str] | None:
    """The nodes that read; None unless it is known of all of them."""
    known = {role: value for role, value in from_transport.items() if value is not None}
    return reading(known) if len(known) == len(from_transport) else None


def _is_among(readers: frozenset[str] | None, role: str) -> bool | None:
    return None if readers is None else role in readers


def _working_ns(facts: Facts, moments: Moments) -> tuple[int, int]:
    """The measured interval. Input that was there before the engine may be read before the engine is usable."""
    start_ns = facts.outcome.engine_start_ns
    if facts.plan.shape != "preloaded" or start_ns is None:
        return moments.measured_start_ns, moments.observed_end_ns
    return start_ns, moments.drain_end_ns


def _growth(
    node: ProcessDescription, field: str, samples: Sequence[ResourceSample], span_ns: tuple[int, int]
) -> float | None:
    """Of the node and its members, from the last sample before the time to its last one. A sum begins at 0."""
    grown = []
    for role in (node.role, *node.members):
        values = [
            (one.t_ns, value) for one in samples if one.role == role and (value := getattr(one, field)) is not None
        ]
        before, after = ([value for t_ns, value in values if t_ns <= moment_ns] for moment_ns in span_ns)
        if after:
            grown.append(after[-1] - (before[-1] if before else 0.0))
    return round(sum(grown), DECIMALS) if grown else None
