"""A reproduced study as its page sees it: each experiment with its attempts, its verdict and, read once, its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.metrics import METRICS
from streamgauge.model import campaign
from streamgauge.model.campaign import REPRODUCTION_NAME, Attempt, ExperimentRow
from streamgauge.model.capacity import Capacity, CapacityProbe
from streamgauge.model.manifest import MachineDescription, Manifest
from streamgauge.model.summary import Summary
from streamgauge.report.source import Source, read
from streamgauge.rundir import RunDir
from streamgauge.study import Experiment

CAPACITY = "capacity.best"
"""The metric of a search's answer: the hardest value that was sustained."""


@dataclass
class ExperimentResult:
    """One experiment on one engine, as far as it was run."""

    out: Path
    name: str
    dimensions: Mapping[str, str]
    engine: str
    scenario: str
    purpose: str
    state: str
    reason: str
    attempts: Sequence[Attempt]
    judged: str
    """The verdict over all its runs; empty where there was one only, and the file does not say."""
    directory: str | None
    """Of the run that counts, which is the median one of several, relative to ``out``."""
    summary: Summary | None
    capacity: Capacity | None

    @property
    def scenario_name(self) -> str:
        """Without the study."""
        return self.scenario.rpartition("/")[2]

    @property
    def title(self) -> str:
        return " · ".join([self.engine, *(self.dimensions.values() or [self.name])])

    @property
    def counted(self) -> list[Attempt]:
        """The last attempt at each run."""
        return list({attempt.run: attempt for attempt in self.attempts}.values())

    @property
    def verdict(self) -> str:
        """VALID, INVALID or FAILED, the worst of its runs; the state it is in when it has no result."""
        if self.state != "done" or not self.attempts:
            return self.state
        return self.judged or self.attempts[-1].verdict

    @property
    def usable(self) -> bool:
        return self.verdict == "VALID"

    @property
    def has_result(self) -> bool:
        return self.state == "done" and self.directory is not None and bool(self.attempts)

    @property
    def why(self) -> str:
        """Why it has no result, or why the result must not be used; empty for a good one."""
        if self.state == "not run":
            return self.reason or "no reason was recorded"
        if self.state != "done":
            return self.reason or "not started yet"
        if self.usable or not self.attempts:
            return ""
        return "; ".join(
            f"run {attempt.run}: {reason}" if len(self.counted) > 1 else reason
            for attempt in self.counted
            for reason in attempt.reasons
        )

    def value(self, metric: str) -> float | None:
        """A figure of the run that counts: by its name in ``METRICS``, else by its keys in the summary; or CAPACITY.

        For example ``latency.latest.p50`` or ``burst.caught_up_s``. None where it has none.
        """
        if metric == CAPACITY:
            return None if self.capacity is None else self.capacity.interval[0]
        return None if self.summary is None else figure_of(self.summary, metric)

    @cached_property
    def summaries(self) -> list[Summary]:
        """Of every run that counts and can be read, in order."""
        found = (_read_summary(self.out / attempt.directory) for attempt in self.counted)
        return [summary for summary in found if summary is not None]

    def runs_ms(self, kind: str) -> list[float | None]:
        """The median of every run, where there are several."""
        return [attempt.p50_ms.get(kind) for attempt in self.counted] if len(self.counted) > 1 else []

    @cached_property
    def source(self) -> Source | None:
        """The run that counts; None where there is none that can be read. A search has ``probe_source``."""
        return None if self.directory is None or self.purpose != "run" else _read(self.out / self.directory)

    @cached_property
    def manifest(self) -> Manifest | None:
        """Of the run, or of a search's first probe; None where there is none."""
        if self.source is not None:
            return self.source.manifest
        for probe in () if self.capacity is None else self.capacity.probes:
            source = self.probe_source(probe)
            if source is not None:
                return source.manifest
        return None

    def probe_source(self, probe: CapacityProbe) -> Source | None:
        return None if self.directory is None else _read(self.out / self.directory / probe.directory)


@dataclass(frozen=True)
class Reproduction:
    """The content of ``reproduction.json``."""

    study: str
    profile: str
    state: str
    started: str
    seconds: float | None
    version: str
    machine: MachineDescription
    experiments: Sequence[ExperimentResult]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Everything else that the file says."""

    def of(self, experiments: Sequence[Experiment]) -> list[ExperimentResult]:
        """The results of these, in their order; engines in the order of the file."""
        return [result for one in experiments for result in self.experiments if result.name == one.name]

    def missing(self, experiments: Sequence[Experiment]) -> list[str]:
        known = {result.name for result in self.experiments}
        return [one.name for one in experiments if one.name not in known]

    @property
    def engines(self) -> list[str]:
        return list(dict.fromkeys(result.engine for result in self.experiments))


def read_reproduction(out: Path) -> Reproduction:
    """Read ``OUT/reproduction.json``. Raises UsageError when it is not there, or not of this format."""
    path = out / REPRODUCTION_NAME
    try:
        content = campaign.read_reproduction(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            "not a reproduced study", where=out, got=f"no {REPRODUCTION_NAME}", hint="streamgauge reproduce STUDY"
        ) from None
    return Reproduction(
        study=content.study,
        profile=content.profile,
        state=content.state,
        started=content.started,
        seconds=content.seconds,
        version=content.streamgauge,
        machine=content.machine,
        experiments=[_result(out, row) for row in content.experiments],
        about=content.as_json(),
    )


def _result(out: Path, row: ExperimentRow) -> ExperimentResult:
    return ExperimentResult(
        out=out,
        name=row.name,
        dimensions=row.dimensions,
        engine=row.engine,
        scenario=row.scenario,
        purpose=row.purpose,
        state=row.state,
        reason=row.reason,
        attempts=row.attempts,
        judged=row.verdict or "",
        directory=row.directory,
        summary=row.summary,
        capacity=row.capacity,
    )


def _read(path: Path) -> Source | None:
    """A run that was cleaned up or damaged since leaves a gap, and the rest of the page stands."""
    try:
        return read(RunDir.open(path))
    except (UsageError, OSError):
        return None


def figure_of(summary: Summary, metric: str) -> float | None:
    """A figure by its name in ``METRICS``, else by its keys; None where the summary has none."""
    value: Any = summary.as_json()
    for key in METRICS[metric].path if metric in METRICS else metric.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return _as_number(value)


def _read_summary(path: Path) -> Summary | None:
    try:
        return RunDir.open(path).summary()
    except (UsageError, OSError):
        return None


def _as_number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
