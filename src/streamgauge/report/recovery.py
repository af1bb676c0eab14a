"""What the report of one run says of its faults; draw.over_time marks their moments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamgauge.report.source import Source
from streamgauge.report.text import number, plain

NEVER, UNKNOWN = "not in this run", "cannot be told"


def fault_rows(source: Source) -> list[dict[str, str]]:
    """One row per fault of the run."""
    return [_row(fault) for fault in source.summary.get("faults") or () if isinstance(fault, Mapping)]


def fault_results(source: Source) -> str:
    """Loss and duplicates, which belong to the whole run: no result says which fault it suffered from."""
    results = source.summary.get("results") or {}
    return ", ".join(f"{number(results.get(word))} {word}" for word in ("lost", "duplicates", "unfinished", "wrong"))


def _row(fault: Mapping[str, Any]) -> dict[str, str]:
    if not fault.get("took_effect"):
        return {"fault": plain(fault.get("fault")), "effect": f"none: {plain(fault.get('why_not'))}"}
    kind = plain(fault.get("latency"))
    return {
        "fault": plain(fault.get("fault")),
        "effect": f"from {number(fault.get('acted_s'), 2)} s to {number(fault.get('ended_s'), 2)} s",
        "outage (s)": number(fault.get("outage_s"), 2),
        "longest gap before (s)": number(fault.get("gap_before_s"), 3),
        "output again after (s)": _after(fault.get("first_output_s"), known=fault.get("outage_s") is not None),
        f"{kind} latency back after (s)": _after(
            fault.get("latency_back_s"), known=fault.get("latency_limit_ms") is not None
        ),
        "backlog back after (s)": _after(fault.get("backlog_back_s"), known=fault.get("backlog_limit") is not None),
    }


def _after(seconds: Any, *, known: bool) -> str:
    """``known``: whether there is something to compare with."""
    return number(seconds, 2) if seconds is not None else NEVER if known else UNKNOWN
