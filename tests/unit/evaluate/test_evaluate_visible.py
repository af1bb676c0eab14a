"""Stamps of a transactional output, worked out by hand: three commits in one partition, one in the other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tallies import START_NS, facts

from run_files import change, content
from streamgauge.evaluate import evaluation
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.tally import Tally
from streamgauge.evaluate.visible import NEVER, OFFSETS_MAX, Visible, output_stamps_ms, unused_places
from streamgauge.model import NS_PER_MS
from streamgauge.model.samples import VisibleSample
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir

START_MS = START_NS // NS_PER_MS


def line(partition: int, end: int, at_ms: float, doubt_ms: float = 20.0) -> VisibleSample:
    t_ns = START_NS + round(at_ms * NS_PER_MS)
    return VisibleSample(t_ns=t_ns, since_ns=t_ns - round(doubt_ms * NS_PER_MS), partition=partition, end=end)


LINES = [
    line(0, 3, 100.9),  # rows 0 and 1; 2 is the mark of the commit
    line(1, 5, 150),  # rows 0 to 3
    line(0, 6, 200),  # rows 3 and 4
    line(0, 10, 350),  # rows 6, 7 and 8
]


@pytest.fixture
def visible(tmp_path: Path) -> Any:
    def read(lines: list[VisibleSample], *, transactional: bool = True) -> Visible | None:
        run = RunDir.create(tmp_path / "run")
        run.append_samples(*lines)
        known, _ = facts()
        engine = known.manifest.engine.with_changes(transactional=transactional)
        return Visible.read(run, replace(known, manifest=known.manifest.with_changes(engine=engine)))

    return read


def stamps(visible: Visible, partition: int, *offsets: int) -> list[int | None]:
    places = np.array([partition * OFFSETS_MAX + offset for offset in offsets], np.int64)
    return [None if ms == NEVER else int(ms - START_MS) for ms in visible.stamper.emitted_ms(places)]


def test_a_row_is_visible_with_the_first_end_beyond_it(visible: Any) -> None:
    visible_output = visible(LINES)
    assert stamps(visible_output, 0, 0, 1, 2, 3, 4, 5, 6, 8, 9) == [100, 100, 100, 200, 200, 200, 350, 350, 350]
    assert stamps(visible_output, 1, 0, 3, 4) == [150, 150, 150]


def test_what_lies_beyond_the_last_end_was_never_visible(visible: Any) -> None:
    visible_output = visible(LINES)
    assert stamps(visible_output, 0, 10, 11) == [None, None]
    assert stamps(visible_output, 1, 5, 10**12) == [None, None], "what another partition showed says nothing"
    assert stamps(visible_output, 2, 0) == [None]


def test_a_run_that_nobody_watched(visible: Any) -> None:
    assert stamps(visible([]), 0, 0) == [None]


def test_without_transactions_the_broker_s_stamps_count(visible: Any) -> None:
    assert visible(LINES, transactional=False) is None
    batch = pa.record_batch({"partition": [0], "offset": [4], "appended_ms": [17]})
    assert output_stamps_ms(batch, None).tolist() == [17]


def test_rows_of_the_recorded_output(visible: Any) -> None:
    batch = pa.record_batch(
        {
            "partition": pa.array([0, 0, 1, 1], pa.int32()),
            "offset": pa.array([4, 12, 0, 5], pa.int64()),
            "appended_ms": pa.array([1, 2, 3, 4], pa.int64()),
        }
    )
    assert (output_stamps_ms(batch, visible(LINES)) - START_MS).tolist() == [200, 150]


def test_resolution_is_that_of_the_results(visible: Any) -> None:
    """980 results within 20 ms, 20 within 60: each counts, however few looks showed them. 10 more in the warm-up."""
    lines = [line(0, 10, 50, doubt_ms=900), line(0, 500, 1100), line(1, 490, 1100), line(0, 520, 1300, doubt_ms=60)]
    visible_output, (_, moments) = visible(lines), facts()
    assert visible_output.resolution_ms(moments) == {"p50": 20.0, "p99": 60.0, "max": 60.0}
    assert visible_output.warnings(moments) == []
    (warning,) = visible_output.warnings(replace(moments, measured_start_ns=START_NS))
    assert "900 ms at worst, and for 10 of 1010 results less exactly than to 100 ms" in warning


GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"


@pytest.fixture
def with_marks(tmp_path: Path) -> Any:
    """The golden run with the mark of a commit after each of its outputs: record n of a partition has the offset 2n."""

    def make(name: str = "command", **outcome: Any) -> RunDir:
        shutil.copytree(GOLDEN, tmp_path / "run")
        run = RunDir.open(tmp_path / "run")
        change(run.manifest_path, engine={**content(run.manifest_path)["engine"], "name": name})
        change(run.outcome_path, **outcome)
        directory = run.recorded("output")
        table = pq.read_table(directory)
        for file in directory.glob("*.parquet"):
            file.unlink()
        place = table.schema.get_field_index("offset")
        doubled = pa.array([2 * offset for offset in table.column("offset").to_pylist()], pa.int64())
        pq.write_table(table.set_column(place, table.schema.field(place), doubled), directory / "part-0.parquet")
        return run

    return make


def summary_of(run: RunDir) -> Summary:
    return evaluation._evaluate(run, Facts.read(run), Tally.empty(), recorded=True)


@pytest.mark.parametrize(
    ("name", "option"), [("command", "; try again with --set delivery=exactly-once"), ("echo", "")]
)
def test_undeclared_transactions_that_nobody_watched_are_no_measurement(
    with_marks: Any, name: str, option: str
) -> None:
    summary = summary_of(with_marks(name))
    assert summary.verdict == "INVALID"
    (reason,) = (reason for reason in summary.reasons if "transactions" in reason)
    assert reason.startswith(f"{name} writes in transactions without declaring it (")
    assert reason.endswith(f" and nothing recorded when its results became visible{option}")


def test_undeclared_transactions_are_stamped_when_visible(with_marks: Any) -> None:
    run = with_marks()
    outcome = run.outcome()
    ends = {int(partition): 2 * end for partition, end in outcome.ends["output"].items()}
    t_ns = outcome.drain_end_ns - 1_500 * NS_PER_MS
    run.append_samples(*(VisibleSample(t_ns=t_ns, since_ns=t_ns - 7, partition=p, end=end) for p, end in ends.items()))
    summary = summary_of(run)
    assert any("results count from when their transaction was committed" in warning for warning in summary.warnings)
    assert not any("transactions" in reason for reason in summary.reasons)
    assert summary.visible_resolution_ms["max"] == 0.0
    seconds = pq.read_table(run.measures("seconds")).column("output").to_pylist()
    assert [count for count in seconds if count] == [sum(ends.values()) // 2], "all became visible at once"


def test_a_program_without_transactions_keeps_the_broker_s_stamps(tmp_path: Path) -> None:
    """It was watched, and its output has no gap."""
    shutil.copytree(GOLDEN, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    run.append_samples(line(0, 10**6, 0), line(1, 10**6, 0))
    assert unused_places(run, Facts.read(run)) == 0
    assert Visible.read(run, Facts.read(run)) is None
    summary = summary_of(run)
    assert "visible_resolution_ms" not in summary.as_json()
    assert not any("transaction" in message for message in [*summary.warnings, *summary.reasons])


def test_the_mark_behind_the_last_record_is_found(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    ends = {stream: dict(of) for stream, of in run.outcome().ends.items()}
    ends["output"]["1"] += 1
    change(run.outcome_path, ends=ends)
    assert unused_places(run, Facts.read(run)) == 1


def test_a_transaction_that_is_never_committed_is_a_warning(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    change(run.outcome_path, hidden=12)
    summary = summary_of(run)
    assert (
        "12 places of the output were behind a transaction that was still open when the run ended" in summary.warnings
    )
    assert not any("transactions" in reason for reason in summary.reasons)


def test_a_run_without_output_has_no_resolution(visible: Any) -> None:
    visible_output, (_, moments) = visible([]), facts()
    assert visible_output.resolution_ms(moments) == {"p50": None, "p99": None, "max": None}
    assert visible_output.warnings(moments) == []
