"""Run directories with chosen figures, for tests of several runs together."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from streamgauge.model.capacity import Capacity, CapacityProbe
from streamgauge.model.manifest import Manifest, upgrade
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


def write_run(
    path: Path,
    p50_ms: float | None,
    *,
    verdict: str = "VALID",
    state: str | None = "steady",
    changes: dict[str, Any] | None = None,
    **summary: Any,
) -> RunDir:
    """A run like the golden one; ``changes`` are dotted keys of its manifest."""
    manifest = json.loads((GOLDEN / "manifest.json").read_text())
    summary_content = json.loads((GOLDEN / "summary.json").read_text())
    for key, value in (changes or {}).items():
        *parts, last = key.split(".")
        place = manifest
        for part in parts:
            place = place[part]
        place[last] = value
    manifest["run"] = summary_content["run"] = f"{summary_content['run'][:-4]}{abs(hash(path)) % 0xFFFF:04x}"
    latencies = copy.deepcopy(summary_content["latency_ms"])
    latencies["total"]["p50"] = p50_ms
    summary_content |= {"verdict": verdict, "state": state, "reasons": [] if verdict == "VALID" else ["why"]}
    run = RunDir.create(path)
    write_json(run.manifest_path, manifest)
    write_json(run.outcome_path, json.loads((GOLDEN / "outcome.json").read_text()))
    write_json(run.summary_path, {**summary_content, "latency_ms": latencies, **summary})
    return run


def capacity(**changes: Any) -> Capacity:
    """A search with a result."""
    content = {
        "format": 1,
        "scenario": "ospbench/throughput",
        "engine": "echo",
        "rule": "slope",
        "slo": [],
        "resolution": 0.1,
        "over": "rate_per_s",
        "unit": "records/s",
        "outcome": "found",
        "interval": (100, 110),
        "confirmed": True,
        "note": "",
        "best_latency_ms": None,
        "guess": 100,
        "probes": [probe(100, purpose="confirm")],
        "seconds": 1.0,
        "seconds_saved": 0.0,
        "settings": {},
    }
    return Capacity.model_validate({**content, **changes})


def probe(value: float, verdict: str = "sustained", **changes: Any) -> CapacityProbe:
    """A probe of a search."""
    content = {
        "value": value,
        "rate": max(1, round(value)),
        "purpose": "bracket",
        "verdict": verdict,
        "reason": "",
        "weak": False,
        "seconds": 40.0,
        "seconds_saved": 0.0,
        "directory": f"probes/01-{value}",
        "total_p50": 2.0,
        "total_p99": 5.0,
    }
    return CapacityProbe.model_validate({**content, **changes})


def summary(**changes: Any) -> Summary:
    """The summary of the golden run, as if it had been VALID."""
    golden = json.loads((GOLDEN / "summary.json").read_text())
    results = dict.fromkeys(golden["results"], 0) | {"expected": 400, "matched": 400, "inputs_per_result": 1.0}
    good = {"verdict": "VALID", "reasons": [], "warnings": [], "sustained": True, "results": results}
    return Summary.model_validate({**golden, **good, **changes})


def manifest(**changes: Any) -> Manifest:
    """The manifest of the golden run."""
    content = upgrade(json.loads((GOLDEN / "manifest.json").read_text()))
    return Manifest.model_validate({**content, **changes})
