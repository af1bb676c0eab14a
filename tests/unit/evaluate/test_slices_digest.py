"""What is kept of a slice gives the same figures as all of its rows."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tallies import START_NS, facts

from streamgauge.evaluate.metrics import lag, latency
from streamgauge.evaluate.metrics.generator import Lateness, Ledger
from streamgauge.evaluate.metrics.latency import Distribution, added
from streamgauge.evaluate.slices import digest
from streamgauge.evaluate.slices.sending import Sending, Stamped, by_second
from streamgauge.evaluate.tally import MATCHED, MEASURED, MISSING, TAIL, WARMUP, Tally, results
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.rundir import RunDir

SECONDS = 40


def rows(count: int, seed: int) -> pa.Table:
    """Counted rows of two partitions; the last ones have no result."""
    chance = random.Random(seed)
    made: dict[str, list[Any]] = {name: [] for name in digest.COLUMNS}
    for place in range(count):
        second, total_ms = chance.randrange(SECONDS), chance.randrange(2000)
        missing = place >= count - 5
        row = {
            "phase": WARMUP if second < 5 else TAIL if second >= 38 else MEASURED,
            "fate": MISSING if missing else MATCHED,
            "part": second // 2,
            "partitions": chance.choice((1, 2)),
            "second": second,
            "total_ms": total_ms,
            "latest_ms": total_ms - 3,
            "average_ms": total_ms - 3.0,
            "appended_second": second,
            "answered_second": None if missing else second + total_ms // 1000,
            "appended_min_ms": 1000 * second,
            "appended_max_ms": 1000 * second,
            "rows": (many := chance.randint(1, 9)),
            "inputs": many,
            "new_inputs": many,
            "outputs": 0 if missing else many,
            "duplicates": chance.choice((0, 0, 1)),
            "open_at_end": chance.choice((0, many)),
            "appended_rest_ms": many * 400,
            "answered_rest_ms": None if missing else many * 200,
        }
        for name, column in made.items():
            column.append(row.get(name, 0))
    return digest.as_counted(pa.table(made))


@pytest.mark.parametrize("quiet", [True, False])
def test_merged_slices_have_the_figures_of_all_rows(quiet: bool) -> None:
    """Only the last slice has missing rows. One that is in a partition without later answers is not lost."""
    tables = [rows(80, seed) for seed in range(4)]
    tables = [table.filter(pa.compute.equal(table["fate"], MATCHED)) for table in tables[:-1]] + tables[-1:]
    whole = Tally.of(pa.concat_tables(tables), quiet=quiet, outputs=5000)
    merged = None
    for table in tables:
        merged = digest.merged(merged, table)
    assert merged is not None
    sliced = Tally.of(merged, quiet=quiet, outputs=5000)
    assert results(sliced) == results(whole)
    assert lag.backlog_at_end(sliced) == lag.backlog_at_end(whole)
    assert latency.medians_of_parts_ms(sliced, "total", 5) == latency.medians_of_parts_ms(whole, "total", 5)
    for kind, distribution in latency.distributions(whole).items():
        assert latency.distributions(sliced)[kind].figures() == distribution.figures()
    assert sliced.answered_second.max() == whole.answered_second.max()


def test_the_merged_table_does_not_grow_with_the_number_of_slices() -> None:
    merged = digest.merged(None, rows(200, 1))
    again = digest.merged(digest.merged(merged, rows(200, 1)), rows(200, 1))
    assert len(again) == len(merged)
    assert sum(again.column("rows").to_pylist()) == 3 * sum(merged.column("rows").to_pylist())


def test_what_each_second_waited_for_adds_up_to_the_backlog() -> None:
    tables = [rows(80, seed) for seed in (1, 2)]
    whole = lag.backlog_per_second(Tally.of(pa.concat_tables(tables), quiet=True, outputs=0), SECONDS + 3)
    columns: dict[str, Any] = {}
    for table in tables:
        for name, column in digest.waiting(Tally.of(table, quiet=True, outputs=0)).items():
            columns[name] = columns.get(name, np.zeros(SECONDS + 3)) + np.pad(column, (0, SECONDS + 3 - len(column)))
    arrived = np.cumsum(columns["arrived"]) - columns["arrived"] + columns["arrived_rest_ms"] / 1000
    done = np.cumsum(columns["done"]) - columns["done"] + columns["done_rest_ms"] / 1000
    assert np.round(arrived - done, 3).tolist() == whole.tolist()


def test_seconds_of_windows_are_those_of_the_run() -> None:
    table = rows(3000, 3)
    tally = Tally.of(table, quiet=True, outputs=0)
    whole = latency.per_second(tally, "total", SECONDS)
    found = [digest.Windows.of(tally, first, first + 20, 10) for first in (0, 20)]
    for name in digest.FIGURES:
        seconds = [value for one in found for value in one.seconds.column(f"total_{name}").to_pylist()]
        assert seconds == whole[name]
    assert [window.second for one in found for window in one.figures] == [0, 10, 20, 30]
    assert sum(window.count for one in found for window in one.figures) == int(tally.rows[tally.fate == MATCHED].sum())
    assert [second for one in found for second in one.seconds.column("second").to_pylist()] == list(range(SECONDS))


@pytest.mark.parametrize(
    ("quiet_s", "noted"),
    [(5.0, [(1998, 2998), (2999, 9000)]), (0.7, [(1298, 1998), (1998, 2998), (2999, 9000)])],
    ids=["a second or more", "what may be an outage"],
)
def test_gaps_of_the_output_are_noted(tmp_path: Path, quiet_s: float, noted: list[tuple[int, int]]) -> None:
    """A silence above ``quiet_s`` is an outage, however short that is."""
    run_facts, moments = facts()
    scenario = run_facts.manifest.scenario.with_changes(quiet_s=quiet_s)
    run_facts = replace(run_facts, manifest=run_facts.manifest.model_copy(update={"scenario": scenario}))
    slice_ = RunDir(tmp_path)
    slice_.recorded("output").mkdir(parents=True)

    def gaps_of(*after_ms: int) -> list[tuple[int, int]]:
        stamps = pa.array([START_NS // NS_PER_MS + ms for ms in after_ms], pa.int64())
        pq.write_table(pa.table({"appended_ms": stamps}), slice_.recorded("output") / "part-0.parquet")
        found = Stamped.read(slice_, run_facts, moments, Ledger.empty(), None).gaps_ms
        return [(begin - START_NS // NS_PER_MS, end - START_NS // NS_PER_MS) for begin, end in found]

    assert gaps_of(699, 1298, 1998, 2998, 2999, 9000) == noted
    assert gaps_of() == []


def test_only_seconds_with_something_are_kept() -> None:
    least = np.iinfo(np.int64).min
    table = by_second({"sent": np.array([0, 3, 0]), "late_max_ns": np.array([least, least, least, 5])})
    assert table.to_pydict() == {"second": [1, 3], "sent": [3, 0], "late_max_ns": [least, 5]}


def test_parts_of_a_ledger_add_up() -> None:
    run_facts, moments = facts(rate_per_s=10, measured_s=4.0)
    n = np.arange(60)
    late_ns = (n % 7) * NS_PER_MS
    sent_ns = START_NS + n * NS_PER_S // 10 + late_ns
    one = np.ones(60, np.int64)
    ledger = Ledger(n, one, sent_ns, n, sent_ns + NS_PER_MS, 0 * one)
    whole = Sending.of(ledger, run_facts, moments)
    parts = [
        Sending.of(Ledger(*(column[cut] for column in vars(ledger).values())), run_facts, moments)
        for cut in (slice(0, 25), slice(25, 60))
    ]
    assert whole.measured == sum(part.measured for part in parts) == 40
    assert whole.inside == sum(part.inside for part in parts)
    assert whole.late.figures() == added([part.late for part in parts]).figures()
    exact = Lateness.of(ledger, run_facts, moments).late_ns[10:50] / 1000
    assert whole.late.figures() == Distribution.of(exact, np.ones(40, np.int64)).figures()
