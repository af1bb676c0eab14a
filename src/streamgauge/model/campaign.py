"""The files of campaigns other than capacity searches.

``set.json`` of a set of repetitions, and ``reproduction.json``: the experiments of a study, their results, and
everything needed to resume it.

Format history of ``reproduction.json``
---------------------------------------
1   first; ``runs``, ``tries``, ``verdict``, ``settings`` and ``faults`` of an experiment, ``run``, ``p50_ms``,
    ``p99_ms``, ``rate_output`` and ``interval`` of an attempt were added later and may be missing; ``dimensions`` of an
    experiment replaced ``stage`` and ``variant``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from streamgauge.model.capacity import Capacity, Interval
from streamgauge.model.manifest import MachineDescription
from streamgauge.model.summary import Summary, VerdictWord
from streamgauge.stored import (
    CAMPAIGN_HINT,
    AtLeastOne,
    Content,
    Number,
    Stored,
    read,
    read_format,
    write_json,
)

SET_NAME = "set.json"
SET_FORMAT = 1
REPRODUCTION_NAME = "reproduction.json"
REPRODUCTION_FORMAT = 1
TRIES = 2
"""An INVALID run or search is repeated once."""


class RepetitionSet(Stored):
    """``set.json``: the number of runs, and which of them is the median run."""

    format: int = SET_FORMAT
    runs: AtLeastOne
    median: str


class Attempt(Stored):
    """One run of an experiment, or its repetition after an INVALID one."""

    run: AtLeastOne = 1
    directory: str
    verdict: VerdictWord
    reasons: Sequence[str]
    p50_ms: Mapping[str, Number | None] = {}
    """The median of each kind of latency."""
    p99_ms: Mapping[str, Number | None] = {}
    rate_output: Number | None = None
    interval: Interval | None = None
    """For a capacity search."""


class ExperimentRow(Stored):
    """One experiment on one engine, with its attempts so far."""

    name: str
    scenario: str
    dimensions: Mapping[str, str]
    settings: Mapping[str, str] = {}
    faults: Sequence[str] = ()
    purpose: Literal["run", "capacity"]
    engine: str
    runs: AtLeastOne = 1
    tries: AtLeastOne = TRIES
    """How often each run is tried while it is INVALID."""
    state: Literal["pending", "done", "not run"]
    reason: str
    attempts: Sequence[Attempt]
    verdict: VerdictWord | None = None
    """The verdict over all its runs."""
    directory: str | None
    """The directory of the run that counts: the median run if there are several."""
    summary: Summary | None
    capacity: Capacity | None


class Reproduction(Stored):
    format: int = REPRODUCTION_FORMAT
    study: str
    title: str
    source: str = ""
    profile: str
    state: Literal["unfinished", "finished"]
    started: str = ""
    seconds: Number = 0.0
    machine: MachineDescription = MachineDescription()
    streamgauge: str = ""
    """Version of streamgauge."""
    settings: Mapping[str, Any] = {}
    experiments: Sequence[ExperimentRow]


def read_reproduction(path: Path) -> Reproduction:
    """Raises UsageError if it is damaged or of another format, and FileNotFoundError."""
    read_format(path, REPRODUCTION_FORMAT, CAMPAIGN_HINT)
    return read(path, Reproduction, CAMPAIGN_HINT, _upgrade)


def _upgrade(content: Content) -> Content:
    """Convert to today's form. Damaged content is left unchanged."""
    rows = content.get("experiments")
    if not isinstance(rows, list):
        return content
    return {**content, "experiments": [_upgrade_row(row) if isinstance(row, dict) else row for row in rows]}


def _upgrade_row(row: Content) -> Content:
    """Early files have one run per experiment, and two dimensions as separate keys."""
    attempts = row.get("attempts")
    last = attempts[-1] if isinstance(attempts, list) and attempts else None
    dimensions = {key: row[key] for key in ("stage", "variant") if key in row}
    return {"verdict": last.get("verdict") if isinstance(last, dict) else None, "dimensions": dimensions, **row}


def write_reproduction(path: Path, content: Reproduction) -> None:
    write_json(path, content.as_json())
