"""The checkpoints of a script's queries as a clock, and what several queries have in common."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamgauge.engines.pyspark.checkpoints import Checkpoint, Commit
from streamgauge.engines.pyspark.coverage import Coverage, Query
from streamgauge.engines.pyspark.watcher import batch_figures, python_error


def write_batch(home: Path, number: int, *ends: dict[str, dict[str, int]], watermark_ms: int = 0) -> None:
    header = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": 1, "conf": {}}
    lines = ["v1", json.dumps(header), *map(json.dumps, ends)]
    (home / "offsets").mkdir(parents=True, exist_ok=True)
    (home / "offsets" / str(number)).write_text("\n".join(lines))


def commit(home: Path, number: int) -> None:
    (home / "commits").mkdir(exist_ok=True)
    (home / "commits" / f".{number}.tmp").write_text("not complete")
    (home / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def begin(home: Path, source: int, offsets: dict[str, dict[str, int]]) -> None:
    folder = home / "sources" / str(source)
    folder.mkdir(parents=True)
    (folder / "0").write_text(f"\0v1\n{json.dumps(offsets)}")


def test_a_checkpoint_tells_what_was_committed_and_when(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.begin() is None and not list(checkpoint.fresh())
    begin(tmp_path, 0, {"orders": {"0": 5, "1": 0}})
    write_batch(tmp_path, 0, {"orders": {"0": 5, "1": 0}})
    assert checkpoint.begin() == {"orders": {0: 5, 1: 0}}
    commit(tmp_path, 0)
    write_batch(tmp_path, 1, {"orders": {"0": 9, "1": 4}}, watermark_ms=77)
    assert [one.batch for one in checkpoint.fresh()] == [0]
    commit(tmp_path, 1)
    [seen] = checkpoint.fresh()
    assert (seen.batch, seen.ends, seen.watermark_ms) == (1, {"orders": {0: 9, 1: 4}}, 77)
    stamp_ns = (tmp_path / "commits" / "1").stat().st_ctime_ns
    assert 0 <= seen.committed_ms * 1_000_000 - stamp_ns < 1_000_000
    assert not list(checkpoint.fresh())


def test_a_batch_that_was_removed_is_covered_by_the_next(tmp_path: Path) -> None:
    begin(tmp_path, 0, {"orders": {"0": 0}})
    for number in (0, 1):
        write_batch(tmp_path, number, {"orders": {"0": 10 * number}})
        commit(tmp_path, number)
    (tmp_path / "offsets" / "0").unlink()
    assert [one.batch for one in Checkpoint(tmp_path).fresh()] == [1]


def test_other_sources_do_not_count(tmp_path: Path) -> None:
    begin(tmp_path, 0, {"orders": {"0": 0}})
    begin(tmp_path, 1, {})
    write_batch(tmp_path, 0, {"orders": {"0": 3}}, {"logOffset": 1})  # type: ignore[dict-item]
    commit(tmp_path, 0)
    [seen] = Checkpoint(tmp_path).fresh()
    assert seen.ends == {"orders": {0: 3}}


def coverage(*topics: str, **begins: dict[str, dict[int, int]]) -> Coverage:
    """Of queries that begin there, by name."""
    made = Coverage(list(topics))
    for name, ends in begins.items():
        add(made, name, ends)
    return made


def add(to: Coverage, name: str, begins: dict[str, dict[int, int]]) -> None:
    to.queries[name] = Query(name, Checkpoint(Path("none")))
    to.begin(to.queries[name], begins)


def take(from_: Coverage, name: str, at_ms: int, **ends: dict[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """The moment and the ranges that the commit completes."""
    at_ms, covered = from_.take(from_.queries[name], Commit(0, at_ms, ends, 0))
    return at_ms, [(one["from"], one["to"]) for one in covered]


def test_a_record_is_committed_when_all_queries_that_read_it_have_committed_it() -> None:
    zero = {0: 0}
    watched = coverage("orders", "payments", fast={"orders": zero}, slow={"orders": zero}, other={"payments": zero})
    assert take(watched, "fast", 100, orders={0: 10}, elsewhere={0: 3}) == (100, [])
    assert take(watched, "slow", 200, orders={0: 4}) == (200, [(0, 4)])
    assert take(watched, "slow", 300, orders={0: 12}) == (300, [(4, 10)])
    assert take(watched, "other", 300, payments={0: 2}) == (300, [(0, 2)])


def test_the_moment_is_that_of_the_slowest_query() -> None:
    """Also where its commit is seen first."""
    watched = coverage("orders", a={"orders": {0: 0}}, b={"orders": {0: 0}})
    assert take(watched, "a", 1180, orders={0: 500}) == (1180, [])
    assert take(watched, "b", 1000, orders={0: 500}) == (1180, [(0, 500)])


def test_a_query_that_starts_later_counts_from_then_on() -> None:
    watched = coverage("orders", first={"orders": {0: 0}})
    assert take(watched, "first", 100, orders={0: 10}) == (100, [(0, 10)])
    add(watched, "second", {"orders": {0: 0}})
    assert take(watched, "second", 200, orders={0: 7}) == (200, [])
    assert take(watched, "first", 300, orders={0: 20}) == (300, [])
    assert take(watched, "second", 400, orders={0: 15}) == (400, [(10, 15)])


def test_a_record_that_nobody_reads_is_never_committed() -> None:
    """The script was started again, and its query begins at the latest offset, with a new checkpoint."""
    watched = coverage("orders", before={"orders": {0: 0}})
    assert take(watched, "before", 100, orders={0: 10}) == (100, [(0, 10)])
    watched.end(*watched.queries.values())
    add(watched, "after", {"orders": {0: 25}})
    assert take(watched, "after", 200, orders={0: 30}) == (200, [(25, 30)])
    assert watched.done == {"orders": {0: 30}}


def test_a_query_that_has_ended_holds_nothing_up() -> None:
    watched = coverage("orders", stopped={"orders": {0: 0}}, other={"orders": {0: 0}})
    assert take(watched, "other", 100, orders={0: 12}) == (100, [])
    assert take(watched, "stopped", 200, orders={0: 5}) == (200, [(0, 5)])
    covered = [{"topic": "orders", "partition": 0, "from": 5, "to": 12}]
    assert watched.end(watched.queries["stopped"]) == (200, covered)


def test_what_a_query_may_read_that_has_not_begun_is_not_skipped() -> None:
    watched = coverage("orders", before={"orders": {0: 0}})
    take(watched, "before", 100, orders={0: 10})
    watched.end(*watched.queries.values())
    watched.queries["earliest"] = Query("earliest", Checkpoint(Path("none")))
    add(watched, "latest", {"orders": {0: 25}})
    assert take(watched, "latest", 200, orders={0: 30}) == (200, [])
    watched.begin(watched.queries["earliest"], {"orders": {0: 0}})
    assert take(watched, "earliest", 300, orders={0: 30}) == (300, [(10, 25), (25, 30)])


def test_a_query_in_the_place_of_another_can_read_its_records_again() -> None:
    watched = coverage("orders", before={"orders": {0: 0}})
    take(watched, "before", 100, orders={0: 10})
    watched.end(*watched.queries.values())
    add(watched, "after", {"orders": {0: 0}})
    assert take(watched, "after", 200, orders={0: 4}) == (200, [])
    assert take(watched, "after", 300, orders={0: 12}) == (300, [(10, 12)])


def test_a_partition_that_is_added_is_read_from_its_beginning() -> None:
    watched = coverage("orders", one={"orders": {0: 0}})
    assert take(watched, "one", 100, orders={0: 2, 1: 3}) == (100, [(0, 2), (0, 3)])


def test_a_source_without_an_offset_yet(tmp_path: Path) -> None:
    begin(tmp_path, 0, {"orders": {"0": 0}})
    (tmp_path / "offsets").mkdir()
    header = json.dumps({"batchWatermarkMs": 0})
    (tmp_path / "offsets" / "0").write_text("\n".join(["v1", header, '{"orders":{"0":3}}', "-"]))
    commit(tmp_path, 0)
    [seen] = Checkpoint(tmp_path).fresh()
    assert seen.ends == {"orders": {0: 3}}


def test_a_source_that_counts_seconds_does_not_keep_the_query_from_beginning(tmp_path: Path) -> None:
    begin(tmp_path, 0, {"orders": {"0": 0}})
    (tmp_path / "offsets").mkdir()
    (tmp_path / "sources" / "1").mkdir()
    (tmp_path / "sources" / "1" / "0").write_text("v1\n1714564800123")
    assert Checkpoint(tmp_path).begin() == {"orders": {0: 0}}


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (
            [
                "Traceback (most recent call last):",
                '  File "job.py", line 20, in <module>',
                "    query.awaitTermination()",
                "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] An exception was thrown "
                "from the Python worker: Traceback (most recent call last):",
                '  File "job.py", line 8, in risk',
                "ValueError: no risk class for p-1000",
                "",
                "=== Streaming Query ===",
            ],
            "ValueError: no risk class for p-1000",
        ),
        (["usage: job.py --out OUT", "job.py: error: the following arguments are required: --out"], ""),
        ([], ""),
    ],
)
def test_the_error_of_a_python_worker_is_found(lines: list[str], error: str) -> None:
    assert python_error(lines) == error


def test_the_rows_of_a_batch_are_counted_once() -> None:
    report = {
        "batchId": 3,
        "timestamp": "2024-05-01T12:00:00.250Z",
        "durationMs": {"addBatch": 10, "triggerExecution": 20},
        "numInputRows": 42_000,
        "inputRowsPerSecond": 5.0,
        "processedRowsPerSecond": 7.0,
        "sources": [{"startOffset": {"o": {"0": 1_000}}, "endOffset": {"o": {"0": 15_000}}, "numInputRows": 42_000}],
        "stateOperators": [{"numRowsTotal": 5, "memoryUsedBytes": 2_000_000}],
        "eventTime": {"watermark": "2024-05-01T11:59:55.000Z"},
    }
    figures = batch_figures(report)
    assert figures["rows"] == 14_000
    assert figures["began_ms"] - figures["watermark_ms"] == 5_250
    assert figures["state_rows"] == 5 and figures["state_mb"] == 2.0
    assert figures["parts_ms"] == {"addBatch": 10.0}
