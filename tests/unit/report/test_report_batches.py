"""Batches and the lag of each partition, as the engine reports them."""

from __future__ import annotations

from pathlib import Path

from synthetic_run import LOAD_S, MEASURED_S, START_NS, write_faults, write_valid

from streamgauge import report
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import PositionsSample
from streamgauge.report.batches import MOST_PARTITIONS, batch_rows, engine_figures
from streamgauge.report.source import read


def test_every_batch_is_a_point(tmp_path: Path) -> None:
    source = read(write_faults(tmp_path / "run"))
    duration, rows = (engine_figures(source)[name] for name in ("batch-duration", "batch-rows"))
    assert duration is not None and rows is not None
    assert duration["data"][0]["y"] == [400 + 2 * second for second in range(LOAD_S)]
    assert set(rows["data"][0]["y"]) == {800}
    assert duration["data"][0]["mode"] == "markers"


def test_the_batches_of_the_measured_interval_in_numbers(tmp_path: Path) -> None:
    rows = dict(batch_rows(read(write_faults(tmp_path / "run"))))
    assert rows == {
        "batches": str(MEASURED_S + 1),
        "median duration": "450 ms",
        "longest": "480 ms",
        "median size": "800 records",
        "largest": "800 records",
    }


def test_a_line_for_each_partition(tmp_path: Path) -> None:
    figure = engine_figures(read(write_faults(tmp_path / "run")))["lag-by-partition"]
    assert figure is not None
    lines = {trace["name"]: trace["y"] for trace in figure["data"] if "beyond" not in trace["name"]}
    assert list(lines)[:4] == ["flow 0", "flow 1", "speed 0", "speed 1"]
    assert (set(lines["flow 0"]), lines["flow 1"][:2]) == ({10}, [300, 301])


def test_many_partitions_are_summarised(tmp_path: Path) -> None:
    run, many = write_valid(tmp_path / "run"), MOST_PARTITIONS + 1
    for second in range(3):
        run.append_samples(
            PositionsSample(
                t_ns=START_NS + second * NS_PER_S,
                appended={"flow": 9, "output": 9},
                consumed=9,
                lag_by_partition={"flow": list(range(second, second + many))},
            )
        )
    figure = engine_figures(read(run))["lag-by-partition"]
    assert figure is not None
    assert [(trace["name"], trace["y"]) for trace in figure["data"][:3]] == [
        ("greatest of 9 partitions", [8, 9, 10]),
        ("median", [4, 5, 6]),
        ("least", [0, 1, 2]),
    ]


def test_a_run_without_reports_has_no_such_section(tmp_path: Path) -> None:
    plain = report.write(write_valid(tmp_path / "plain")).read_text()
    assert 'id="batches"' not in plain and "lag-by-partition" not in plain
    reported = report.write(write_faults(tmp_path / "reported")).read_text()
    assert 'id="batches"' in reported and "lag-by-partition" in reported


def test_partitions_that_come_and_go_leave_gaps(tmp_path: Path) -> None:
    run = write_valid(tmp_path / "run")
    for second, lag in enumerate(({"flow": [1]}, {"flow": [2, 5]}, {"speed": [3]}, {"flow": []})):
        run.append_samples(
            PositionsSample(t_ns=START_NS + second * NS_PER_S, appended={}, consumed=9, lag_by_partition=lag)
        )
    figure = engine_figures(read(run))["lag-by-partition"]
    assert figure is not None
    assert {trace["name"]: trace["y"] for trace in figure["data"][:3]} == {
        "flow 0": [1, 2, None],
        "flow 1": [None, 5, None],
        "speed 0": [None, None, 3],
    }
