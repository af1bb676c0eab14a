"""Which nodes of an engine read the input."""

from __future__ import annotations

from collections.abc import Mapping

READS_PART = 10
"""A node reads that got at least so small a part, a tenth, of an equal share of what all nodes received from the
transport."""


def reading(received: Mapping[str, float]) -> frozenset[str] | None:
    """The nodes that read, by what each has received from the transport; None if none has received anything."""
    whole = sum(received.values())
    if not whole:
        return None
    return frozenset(node for node, amount in received.items() if amount * len(received) * READS_PART >= whole)
