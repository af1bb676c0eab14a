"""The checkpoints of a script's queries as a clock, and what several queries have in common."""

from __future__ import annotations

import json
from pathlib import Path

from streamgauge.engines.pyspark.checkpoints import Checkpoint, Commit
from streamgauge.engines.pyspark.watcher import Query, Watched, batch_figures


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


def query(name: str, committed: dict[str, dict[int, int]]) -> Query:
    return Query(name, Checkpoint(Path("none")), committed)


def test_a_record_is_committed_when_all_queries_that_read_it_have_committed_it() -> None:
    fast, slow = query("fast", {"orders": {0: 0}}), query("slow", {"orders": {0: 0}})
    other = query("other", {"payments": {0: 0}})
    watched = Watched(
        ["orders", "payments"], {"a": fast, "b": slow, "c": other}, {"orders": {0: 0}, "payments": {0: 0}}
    )
    assert watched.take(fast, Commit(0, 100, {"orders": {0: 10}, "elsewhere": {0: 3}}, 0)) == []
    assert watched.take(slow, Commit(0, 200, {"orders": {0: 4}}, 0)) == [
        {"topic": "orders", "partition": 0, "from": 0, "to": 4}
    ]
    assert watched.take(slow, Commit(1, 300, {"orders": {0: 12}}, 0)) == [
        {"topic": "orders", "partition": 0, "from": 4, "to": 10}
    ]
    assert watched.take(other, Commit(0, 300, {"payments": {0: 2}}, 0)) == [
        {"topic": "payments", "partition": 0, "from": 0, "to": 2}
    ]


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
