"""The workloads whose results are copies of their inputs, and why the others are not supported."""

from __future__ import annotations

from collections.abc import Mapping

WORKLOADS = frozenset(
    {"traffic/ingest", "traffic/parse", "streambench/identity", "streambench/sink", "games/identity", "power/sink"}
)

GAPS: Mapping[str, str] = {
    **dict.fromkeys(
        ("traffic/join", "traffic/tumbling", "traffic/sliding", "clicks/windowed", "games/aggregation", "games/join"),
        "it copies records and keeps no state",
    ),
    **dict.fromkeys(
        ("streambench/sample", "streambench/projection", "streambench/grep", "threat/classify"),
        "it copies all records unchanged",
    ),
    **dict.fromkeys(
        (
            *("streambench/wordcount", "streambench/distinctcount", "streambench/statistics"),
            *("power/hierarchy", "power/tumbling", "power/hopping"),
        ),
        "it copies records and keeps no state",
    ),
}
