"""Writes small run directories whose answers can be worked out by hand.

Record *n* of the default run is intended at ``START_NS + n × 100 ms``, sent on time, appended 3 ms later and its result
is emitted ``20 + n`` ms after the intended moment. 1 s of warm-up (records 0–9), 2 s measured (10–29), 1 s of tail
(30–39).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from run_files import write_manifest
from streamgauge.model import NS_PER_MS, NS_PER_S, LoadPlan
from streamgauge.model.samples import ClockSample, VisibleSample
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

START_NS = 1_767_225_600 * NS_PER_S + 400_000  # timestamps are truncated to milliseconds: the rest must not count
APPENDED_AFTER_MS = 3


def message(n_seq: int, amount: int = 7) -> str:
    """A message as in the data set, including padding."""
    kind = "speed" if n_seq % 2 else "flow"
    return (
        f'{{"n_seq":{n_seq:10},"id":"RWS01_{n_seq // 2:04}","lane":"lane1","lanes":1,'
        f'"timestamp":"2026-01-01 00:00:00","{kind}": {amount:3},"period":60,"accuracy": 95,'
        f'"lat_e6":52000000,"lon_e6": 4000000}}'
    )


def counts(**given: int) -> dict[str, float | None]:
    """``results`` of a summary: zero unless given."""
    names = [
        "expected",
        "matched",
        "wrong",
        "lost",
        "unfinished",
        "duplicates",
        "intermediate",
        "unexpected",
        "reverted",
    ]
    return dict.fromkeys(names, 0) | given | {"inputs_per_result": 1.0 if given.get("matched") else None}


@dataclass(frozen=True)
class Output:
    """A result of record ``n_seq``, emitted that long after the record's intended time."""

    n_seq: int
    after_ms: int
    value: str
    partition: int = 0
    key: str = "k"


@dataclass
class SyntheticRun:
    """A run: change its parts, then write it."""

    load: LoadPlan = field(default_factory=lambda: LoadPlan(10, 1.0, 2.0, 1.0))
    pipeline: str = "ospbench/ingest"
    parameters: dict[str, Any] = field(default_factory=dict)
    delivery: str = "at-least-once"
    sustained: str | None = None
    drain: str | None = "quiet"
    drain_s: float = 6.0
    ended: Sequence[dict[str, Any]] = ()
    load_error: str | None = None
    interrupted: bool = False
    recounts_after_failure: bool = False
    fault_s: float | None = None
    """The time of an effective pause since the start of the load."""
    engine_start_s: float | None = None
    """Since the start of the load."""
    broker_ahead_ms: int = 0
    """The offset of the broker's clock to all others."""
    late_ms: dict[int, float] = field(default_factory=dict)
    errors: dict[int, int] = field(default_factory=dict)
    unsent: frozenset[int] = frozenset()
    visible: Sequence[VisibleSample] | None = None
    """The lines of ``visible.jsonl`` of an engine that writes in transactions."""
    inputs: list[int] = field(init=False)
    outputs: list[Output] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = list(range(self.load.records))
        self.outputs = [Output(n, 20 + n, message(n)) for n in self.inputs]

    def intended_ms(self, n_seq: int) -> int:
        return (START_NS + self.load.offset_ns(n_seq)) // NS_PER_MS

    def without(self, *n_seq: int) -> None:
        """Remove the results of these records."""
        self.outputs = [output for output in self.outputs if output.n_seq not in n_seq]

    def write(self, path: Path) -> RunDir:
        run = RunDir.create(path)
        write_manifest(run, self._manifest(path.name))
        write_json(run.outcome_path, self._outcome())
        run.append_samples(*(clock_sample(second) for second in range(int(self._drain_end_s()) + 1)))
        run.append_samples(*(self.visible or ()))
        self._write_ledger(run)
        self._write_topics(run)
        return run

    def _drain_end_s(self) -> float:
        return self.load.duration_s + self.drain_s

    def _manifest(self, name: str) -> dict[str, Any]:
        streams = (("flow", "input"), ("speed", "input"), ("output", "output"))
        return {
            "run": name,
            "scenario": {
                "study": "ospbench",
                "name": "latency",
                "profile": "laptop",
                "stage": self.pipeline.partition("/")[2],
                "pipeline": self.pipeline,
                "parameters": self.parameters,
                "sustained": self.sustained,
                "load": asdict(self.load),
            },
            "engine": {
                "name": "echo",
                "version": "1",
                "delivery": self.delivery,
                "recounts_after_failure": self.recounts_after_failure,
                "transactional": self.visible is not None,
                "options": {},
            },
            "transport": {"name": "kafka", "own": True, "bootstrap": "127.0.0.1:1"},
            "streams": [{"name": name, "topic": name, "partitions": 2, "role": role} for name, role in streams],
            "command": "streamgauge run ospbench/latency",
        }

    def _outcome(self) -> dict[str, Any]:
        load = self.load
        at_s = {
            "load_start_ns": 0.0,
            "measured_start_ns": load.warmup_s,
            "measured_end_ns": load.warmup_s + load.measured_s,
            "load_end_ns": load.duration_s,
            "drain_end_ns": self._drain_end_s(),
        }
        return {
            **{name: START_NS + round(second * NS_PER_S) for name, second in at_s.items()},
            "drain": self.drain,
            "interrupted": self.interrupted,
            "ends": {},
            "faults": [] if self.fault_s is None else [_pause(self.fault_s)],
            "ended": list(self.ended),
            "load_error": self.load_error,
            "engine_start_ns": None if (at := self.engine_start_s) is None else START_NS + round(at * NS_PER_S),
        }

    def _write_ledger(self, run: RunDir) -> None:
        rows = []
        for n in range(self.load.records):
            if n in self.unsent:
                continue
            sent_ns = START_NS + self.load.offset_ns(n) + round(self.late_ms.get(n, 0.0) * NS_PER_MS)
            acked_ns = (self.intended_ms(n) + APPENDED_AFTER_MS + 2) * NS_PER_MS
            rows.append((n, 1, sent_ns, n, acked_ns, self.errors.get(n, 0)))
        names = ("first", "count", "sent_ns", "acked_n", "acked_ns", "errors")
        columns = {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)}
        pq.write_table(pa.table(columns), run.ledger(0))

    def _write_topics(self, run: RunDir) -> None:
        stamped = [
            (n, message(n), 0, self.intended_ms(n) + APPENDED_AFTER_MS + self.broker_ahead_ms) for n in self.inputs
        ]
        for kind, stream in enumerate(("flow", "speed")):
            mine = [row for row in stamped if row[0] % 2 == kind]
            table = _topic([("k", value, part, stamp) for _, value, part, stamp in mine])
            table = table.append_column("n_seq", pa.array([row[0] for row in mine], pa.int64()))
            _write(run.recorded(stream), table)
        out = [
            (o.key, o.value, o.partition, self.intended_ms(o.n_seq) + o.after_ms + self.broker_ahead_ms)
            for o in self.outputs
        ]
        _write(run.recorded("output"), _topic(out))


def clock_sample(second: int, step_ms: float = 0.0, bracket_ns: int = 1000) -> ClockSample:
    """The clock at a second of the run, after a step of ``step_ms``."""
    t_ns = START_NS + second * NS_PER_S + round(step_ms * NS_PER_MS)
    return ClockSample(t_ns=t_ns, mono_ns=5_000 * NS_PER_S + second * NS_PER_S, bracket_ns=bracket_ns)


def _pause(at_s: float) -> dict[str, Any]:
    at_ns = START_NS + round(at_s * NS_PER_S)
    moments = {"planned_ns": at_ns, "acted_ns": at_ns, "ended_ns": at_ns + NS_PER_S}
    described = {"fault": "pause engine for 1s", "verb": "pause", "role": "engine"}
    return {**described, **moments, "took_effect": True, "why_not": None}


def _topic(rows: Sequence[tuple[str, str, int, int]]) -> pa.Table:
    """Offsets follow the order of the rows in each partition."""
    next_offsets: dict[int, int] = {}
    offsets = []
    for row in rows:
        offsets.append(next_offsets.get(row[2], 0))
        next_offsets[row[2]] = offsets[-1] + 1
    return pa.table(
        {
            "key": pa.array([row[0] for row in rows], pa.string()),
            "value": pa.array([row[1] for row in rows], pa.string()),
            "partition": pa.array([row[2] for row in rows], pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "appended_ms": pa.array([row[3] for row in rows], pa.int64()),
        }
    )


def _write(directory: Path, table: pa.Table) -> None:
    directory.mkdir()
    pq.write_table(table, directory / "part-0.parquet")
