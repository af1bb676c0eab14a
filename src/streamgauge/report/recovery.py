"""What the report of one run says of its faults; draw.over_time marks their moments."""

from __future__ import annotations

from typing import Any

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.summary import FaultFigures
from streamgauge.report.source import Source
from streamgauge.report.text import number, plain

NEVER, UNKNOWN = "not in this run", "unknown"


def fault_rows(source: Source) -> list[dict[str, str]]:
    """One row per fault of the run."""
    return [_row(fault) for fault in source.summary.faults]


def fault_results(source: Source) -> str:
    """Loss and duplicates, which belong to the whole run: no result says which fault it suffered from."""
    results = source.summary.results
    return ", ".join(f"{number(results.get(kind))} {kind}" for kind in ("lost", "duplicates", "unfinished", "wrong"))


def _row(fault: FaultFigures) -> dict[str, str]:
    asked = plain(fault.asked_and_hit)
    name = asked if fault.number is None else f"{number(fault.number)}. {asked}"
    if not fault.took_effect:
        return {"fault": name, "effect": f"none: {plain(fault.why_not)}"}
    kind = LATENCY_NAMES.get(fault.latency or "", "latency")
    return {
        "fault": name,
        "effect": f"from {number(fault.acted_s, 2)} s to {number(fault.ended_s, 2)} s",
        "outage (s)": number(fault.outage_s, 2),
        "longest gap before (s)": number(fault.gap_before_s, 3),
        "worst partition: outage (gap before) (s)": _worst(fault),
        "partitions affected": _affected(fault),
        "output again after (s)": _after(fault.first_output_s, known=fault.outage_s is not None),
        f"{kind} back after (s)": _after(fault.latency_back_s, known=fault.latency_limit_ms is not None),
        "backlog back after (s)": _after(fault.backlog_back_s, known=fault.backlog_limit is not None),
    }


def _worst(fault: FaultFigures) -> str:
    if fault.outage_worst_s is None:
        return UNKNOWN
    return f"{number(fault.outage_worst_s, 2)} ({number(fault.gap_before_worst_s, 3)})"


def _affected(fault: FaultFigures) -> str:
    """Of how many, which of them stayed silent, and how many had too little output before to be judged."""
    if not (judged := fault.partitions_judged):
        return UNKNOWN
    words = [f"{number(fault.partitions_affected)} of {number(judged)}"]
    if silent := fault.partitions_silent:
        words.append(f"{number(silent)} silent to the end")
    if others := (fault.partitions or judged) - judged:
        words.append(f"{number(others)} not judged")
    return ", ".join(words)


def _after(seconds: Any, *, known: bool) -> str:
    """``known``: whether there is something to compare with."""
    return number(seconds, 2) if seconds is not None else NEVER if known else UNKNOWN
