"""Writes a run of wordcount whose results an invented engine published, once whole and once cut into slices."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from run_files import change, write_manifest
from streamgauge.evaluate import evaluate
from streamgauge.evaluate.slices import facts_of, judge_slice
from streamgauge.model import NS_PER_MS, NS_PER_S, LoadPlan
from streamgauge.model.slices import SliceBounds
from streamgauge.model.summary import Summary
from streamgauge.rundir import LEDGER_COLUMNS, RunDir
from streamgauge.stored import write_json

START_NS = 1_767_225_600 * NS_PER_S
START_MS = START_NS // NS_PER_MS
LOAD = LoadPlan(40, 2.0, 10.0, 1.0)
PARTITIONS = 2
WORDS = ("red", "blue", "car", "grün", "house")


@dataclass(frozen=True)
class Record:
    n_seq: int
    appended_ms: int
    words: tuple[str, ...]

    @property
    def partition(self) -> int:
        return self.n_seq % PARTITIONS


@dataclass(frozen=True)
class Result:
    word: str
    n: int | None
    emitted_ms: int

    @property
    def partition(self) -> int:
        return len(self.word) % PARTITIONS


@dataclass
class SlicedRun:
    """Records and results; change them, then write them."""

    slice_s: int = 3
    records: list[Record] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    drain: str = "quiet"

    @classmethod
    def of(
        cls, *, words: int = 3, every: int = 1, lost: Iterable[int] = (), pause_s: tuple[int, int] = (0, 0)
    ) -> SlicedRun:
        """Up to so many words in a record. The engine publishes every so many contributions of a word and the last,
        loses some records, and publishes nothing during the pause."""
        chance, run = random.Random(7), cls()
        for n in range(LOAD.records):
            appended_ms = START_MS + LOAD.offset_ns(n) // NS_PER_MS + chance.randint(1, 30)
            chosen = chance.choices(WORDS, k=chance.randint(0 if words > 1 else 1, words))
            # A word that ends long before the tail: whether all of it was counted is seen there.
            run.records.append(Record(n, appended_ms, (*chosen, *(("rare",) if n % 37 == 0 and n < 400 else ()))))
        in_order = sorted(run.records, key=lambda one: (one.appended_ms, one.partition, one.n_seq))
        counts: Counter[str] = Counter()
        total = Counter(word for one in in_order if one.n_seq not in set(lost) for word in one.words)
        now_ms = START_MS
        for one in in_order:
            if one.n_seq in set(lost):
                continue
            now_ms = max(now_ms + 1, one.appended_ms + chance.choice((5, 20, 400)))
            from_ms, to_ms = (START_MS + 1000 * second for second in pause_s)
            if from_ms <= now_ms < to_ms:
                now_ms = to_ms
            for word in one.words:
                counts[word] += 1
                if counts[word] % every == 0 or counts[word] == total[word]:
                    run.results.append(Result(word, counts[word], now_ms))
        return run

    def add(self, word: str, n: int | None, at_s: float) -> None:
        """One more result, ``at_s`` seconds after the start of the load."""
        self.results.append(Result(word, n, START_MS + round(1000 * at_s)))

    def ahead(self, word: str, from_n: int) -> None:
        """Count one too many of the word from there on."""
        self.results = [
            replace(one, n=one.n + 1) if one.word == word and one.n is not None and one.n >= from_n else one
            for one in self.results
        ]

    def evaluated_whole(self, spark: Any, path: Path) -> Summary:
        run = self._create(path, slice_s=0)
        for name, table in self._tables().items():
            _write(run.recorded(name), table)
        self._write_ledger(run.ledger(0), range(LOAD.records))
        return evaluate(spark, run)

    def evaluated_in_slices(self, spark: Any, path: Path, *, last: bool = True) -> tuple[RunDir, Summary]:
        """``last``: whether the last slice is evaluated, too."""
        run, tables = self._create(path, slice_s=self.slice_s), self._tables()
        measured_end_ms = START_MS + round(1000 * (LOAD.warmup_s + LOAD.measured_s))
        ends_ms: list[int | None] = list(range(START_MS + 1000 * self.slice_s, measured_end_ms, 1000 * self.slice_s))
        from_ms = 0
        for number, until_ms in enumerate([*ends_ms, *([None] if last else [])], start=1):
            slice_ = run.slice_(number)
            slice_.recorded_path.mkdir(parents=True)
            for name, table in tables.items():
                moments = table.column("appended_ms")
                inside = pc.greater_equal(moments, from_ms)
                if until_ms is not None:
                    inside = pc.and_(inside, pc.less(moments, until_ms))
                _write(slice_.recorded(name), table.filter(inside))
            none: dict[str, dict[str, int]] = {}
            bounds = SliceBounds(
                number=number, until_ms=until_ms, begins=none, ends=none, load_start_ns=START_NS, last=until_ms is None
            )
            write_json(slice_.slice_bounds_path, bounds.as_json())
            first, end = (
                max(min(LOAD.count_before((moment - START_MS) * NS_PER_MS), LOAD.records), 0)
                for moment in (max(from_ms, START_MS), until_ms or START_MS + 10**6)
            )
            self._write_ledger(run.path / "ledger" / f"worker-0-{number:04}.parquet", range(first, end))
            assert facts_of(run, bounds).scenario.slice_s == self.slice_s
            judge_slice(spark, run, number)
            from_ms = until_ms or 0
        return run, evaluate(spark, run)

    def without_slices(self, path: Path) -> RunDir:
        """As a run that is interrupted before its first slice is evaluated."""
        run = self._create(path, slice_s=self.slice_s)
        change(run.outcome_path, interrupted=True, drain_end_ns=START_NS + NS_PER_S)
        return run

    def _create(self, path: Path, slice_s: int) -> RunDir:
        run = RunDir.create(path)
        streams = (("records", "input"), ("output", "output"))
        write_manifest(
            run,
            {
                "run": path.name,
                "scenario": {
                    "study": "streambench",
                    "name": "durability",
                    "profile": "laptop",
                    "workload": "streambench/wordcount",
                    "choice": "program",
                    "chosen": "wordcount",
                    "stage": "wordcount",
                    "parameters": {"field": 1, "seed_file": ""},
                    "sustained": None,
                    "load": asdict(LOAD),
                    "slice_s": slice_s,
                },
                "engine": {"name": "echo", "version": "1", "delivery": "exactly-once", "options": {}},
                "transport": {"name": "kafka", "own": True, "bootstrap": "127.0.0.1:1"},
                "streams": [
                    {"name": name, "topic": name, "partitions": PARTITIONS, "role": role} for name, role in streams
                ],
                "command": "streamgauge run streambench/durability",
            },
        )
        at_s = {
            "load_start_ns": 0.0,
            "measured_start_ns": LOAD.warmup_s,
            "measured_end_ns": LOAD.warmup_s + LOAD.measured_s,
            "load_end_ns": LOAD.duration_s,
            "drain_end_ns": LOAD.duration_s + 6,
        }
        moments = {name: START_NS + round(second * NS_PER_S) for name, second in at_s.items()}
        rest = {"drain": self.drain, "interrupted": False, "ends": {}, "ended": [], "load_error": None}
        write_json(run.outcome_path, {**moments, **rest})
        return run

    def _tables(self) -> dict[str, pa.Table]:
        inputs = [
            (str(one.n_seq), f"u\t{' '.join(one.words)}\t\t\t", one.partition, one.appended_ms, one.n_seq)
            for one in self.records
        ]
        outputs = [
            (one.word, json.dumps({"word": one.word, "n": one.n}), one.partition, one.emitted_ms, 0)
            for one in self.results
        ]
        return {"records": _topic(inputs), "output": _topic(outputs).drop_columns("n_seq")}

    def _write_ledger(self, path: Path, records: range) -> None:
        rows = []
        for n in records:
            sent_ns = START_NS + LOAD.offset_ns(n)
            rows.append((n, 1, sent_ns, n, (self.records[n].appended_ms + 2) * NS_PER_MS, 0))
        columns = {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(LEDGER_COLUMNS)}
        pq.write_table(pa.table(columns), path)


def _topic(rows: list[tuple[str, str, int, int, int]]) -> pa.Table:
    """In each partition, offsets follow the moments."""
    rows = sorted(rows, key=lambda row: row[3])
    next_offsets: Counter[int] = Counter()
    offsets = []
    for row in rows:
        offsets.append(next_offsets[row[2]])
        next_offsets[row[2]] += 1
    return pa.table(
        {
            "key": pa.array([row[0] for row in rows], pa.string()),
            "value": pa.array([row[1] for row in rows], pa.string()),
            "partition": pa.array([row[2] for row in rows], pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "appended_ms": pa.array([row[3] for row in rows], pa.int64()),
            "n_seq": pa.array([row[4] for row in rows], pa.int64()),
        }
    )


def _write(directory: Path, table: pa.Table) -> None:
    directory.mkdir(parents=True)
    pq.write_table(table, directory / "part-0.parquet")
