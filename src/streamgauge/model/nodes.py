"""Which nodes of an engine read the input."""

from __future__ import annotations

from collections.abc import Mapping

READS_SHARE = 0.1
"""Of an equal share of what all nodes received from the transport: a node that got at least this much reads."""


def reading(received: Mapping[str, float]) -> frozenset[str] | None:
    """The nodes that read, by what each has received from the transport; None if none has received anything."""
    whole = sum(received.values())
    if not whole:
        return None
    return frozenset(node for node, amount in received.items() if amount * len(received) >= READS_SHARE * whole)
