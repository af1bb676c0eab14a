"""Everything of a run directory that the report shows, with a note for each part that is not there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import UsageError
from streamgauge.model import NS_PER_S
from streamgauge.model.manifest import Manifest
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import (
    BatchSample,
    ClockSample,
    DiskSample,
    MachineSample,
    PositionsSample,
    ResourceSample,
    SampleKind,
)
from streamgauge.model.slices import SliceFigures
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.stored import damaged

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Column = Sequence[Any]


@dataclass(frozen=True)
class Phase:
    """A part of the run, in seconds since the load started."""

    name: str
    from_s: float
    to_s: float
    main: bool = False
    """Whether the figures are about this part."""


@dataclass(frozen=True)
class Source:
    """One run as the report sees it. Parts that are not there are empty and named in ``missing``."""

    manifest: Manifest
    outcome: Outcome
    summary: Summary
    seconds: Mapping[str, Column]
    latency: Mapping[str, tuple[np.ndarray, np.ndarray]]
    """Per kind: the distinct values in ms, rising, and how often each occurred."""
    heatmap: Sequence[Mapping[str, Any]]
    """How many results of each ``second`` lie ``from_ms`` … ``to_ms``; empty for runs of early versions."""
    resources: Sequence[ResourceSample]
    machine: Sequence[MachineSample]
    clock: Sequence[ClockSample]
    positions: Sequence[PositionsSample]
    batches: Sequence[BatchSample]
    """Of an engine that has batches and reports them."""
    missing: Sequence[str]
    disk: Sequence[DiskSample] = ()
    slices: Sequence[SliceFigures] = ()
    """Both of a run that was evaluated in slices."""

    @property
    def load_started(self) -> bool:
        return self.outcome.load_start_ns is not None

    @property
    def load_start_ns(self) -> int:
        """Of a run whose load started."""
        assert self.outcome.load_start_ns is not None
        return self.outcome.load_start_ns

    def since_start_s(self, t_ns: int) -> float:
        """Seconds since the load started; since the first sample when it never did."""
        start = self.outcome.load_start_ns
        if start is None:
            start = min(samples[0].t_ns for samples in (self.resources, self.machine, self.clock) if samples)
        return float((t_ns - start) / NS_PER_S)

    @property
    def phases(self) -> list[Phase]:
        """The parts that the load went through, in order; empty when it never started.

        Where all input was there before the engine, it is the processing that is measured.
        """
        outcome = self.outcome
        if self.preloaded and outcome.engine_start_ns is not None and outcome.engine_ready_ns is not None:
            names, main = PRELOADED_PHASES, "processing"
            seconds = (self.summary.processing or {}).get("seconds")
            done_ns = outcome.drain_end_ns if seconds is None else outcome.engine_ready_ns + round(seconds * NS_PER_S)
            moments = [outcome.load_start_ns, outcome.engine_start_ns, outcome.engine_ready_ns, done_ns]
            moments += [outcome.drain_end_ns]
        else:
            names, main = PHASES, "measured"
            moments = [outcome.load_start_ns, outcome.measured_start_ns, outcome.measured_end_ns]
            moments += [outcome.load_end_ns, outcome.drain_end_ns]
        return [
            Phase(name, self.since_start_s(begin), self.since_start_s(end), name == main)
            for name, begin, end in zip(names, moments, moments[1:], strict=False)
            if begin is not None and end is not None and end > begin
        ]

    @property
    def preloaded(self) -> bool:
        """Whether all input was waiting before the engine was started."""
        return self.manifest.scenario.load.plan().shape == "preloaded"

    @property
    def main_phase(self) -> Phase | None:
        """The part that is measured."""
        return next((phase for phase in self.phases if phase.main), None)


PHASES = ("warm-up", "measured", "tail", "drain")
PRELOADED_PHASES = ("load", "start-up", "processing", "drain")


def read(run: RunDir) -> Source:
    """Read a run. Raises UsageError when it has not been evaluated."""
    if not run.summary_path.is_file():
        raise UsageError(
            "the run has not been evaluated",
            where=run.path,
            got="no summary.json",
            expected="a run directory with a summary",
            hint=f"streamgauge evaluate {run.path}",
        )
    missing: list[str] = []
    outcome = Outcome.blank()
    if run.outcome_path.is_file():
        outcome = run.outcome()
    else:
        missing.append("outcome.json: the run did not come to its end")
    seconds = _table(run.measures("seconds"), missing)
    latency = _table(run.measures("latency"), missing)
    return Source(
        manifest=run.manifest(),
        outcome=outcome,
        summary=run.summary(),
        seconds={} if seconds is None else _columns(seconds),
        latency={} if latency is None else _by_kind(latency),
        heatmap=_heatmap(run.measures("heatmap")),
        resources=_samples(run, ResourceSample, missing),
        machine=_samples(run, MachineSample, missing),
        clock=_samples(run, ClockSample, missing),
        positions=run.samples(PositionsSample),
        batches=run.samples(BatchSample),
        disk=run.samples(DiskSample),
        slices=run.slices(),
        missing=missing,
    )


def _samples(run: RunDir, kind: type[SampleKind], missing: list[str]) -> list[SampleKind]:
    samples = run.samples(kind)
    if not samples:
        missing.append(f"samples/{kind.kind}.jsonl: no samples")
    return samples


def _heatmap(path: Path) -> list[dict[str, Any]]:
    """Empty if the file is missing: early versions did not write it."""
    table = _table(path, []) if path.is_file() else None
    return [] if table is None else table.to_pylist()


def _table(path: Path, missing: list[str]) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = f"{path.parent.name}/{path.name}"
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        missing.append(f"{name}: not written")
    except (OSError, pa.ArrowException) as problem:
        raise _damaged(path, f"not readable as Parquet: {str(problem).splitlines()[0]}") from None
    else:
        _check_types(path, table)
        if table.num_rows:
            return table
        missing.append(f"{name}: no rows")
    return None


def _check_types(path: Path, table: pa.Table) -> None:
    """Raises UsageError for a column that cannot be drawn."""
    import pyarrow as pa

    lacking = _COLUMNS[path.stem] - set(table.column_names)
    if lacking:
        raise _damaged(path, f"no column {', '.join(sorted(lacking))}")
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        text = name in ("phase", "kind")
        fits = pa.types.is_string(kind) if text else pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not fits and not pa.types.is_null(kind):
            raise _damaged(path, f"the column {name} holds {kind}")


_COLUMNS = {
    "seconds": {"second"},
    "latency": {"kind", "value_ms", "count"},
    "heatmap": {"kind", "second", "from_ms", "to_ms", "count"},
}


def _damaged(path: Path, got: str) -> UsageError:
    run = path.parent.parent
    return damaged(path, got, None, hint=f"streamgauge evaluate {run}, which writes it again")


def _columns(table: pa.Table) -> dict[str, Column]:
    return {name: [_finite(v) for v in table.column(name).to_pylist()] for name in table.column_names}


def _finite(value: Any) -> Any:
    """NaN has no place in JSON, and a figure leaves the same gap for null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _by_kind(table: pa.Table) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    import pyarrow.compute as pc

    by_kind = {}
    for kind in pc.unique(table.column("kind")).to_pylist():
        rows = table.filter(pc.equal(table.column("kind"), kind)).sort_by("value_ms")
        by_kind[str(kind)] = (rows.column("value_ms").to_numpy(), rows.column("count").to_numpy())
    return by_kind
