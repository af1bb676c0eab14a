"""The pipelines of the studies on road traffic, as engines speak of them."""

from __future__ import annotations

from streamgauge.model import Limit

STATELESS = frozenset(f"traffic/{stage}" for stage in ("ingest", "parse"))
STATEFUL = frozenset(f"traffic/{stage}" for stage in ("join", "tumbling", "sliding"))

NOTHING_TO_CUSTOMISE = Limit(
    STATELESS, {"implementation": "customised"}, "it keeps no state: there is nothing to customise"
)
