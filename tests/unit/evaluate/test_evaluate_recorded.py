"""A run directory whose rows are not those that were counted is refused; the engine is not to blame."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from run_files import change, content
from streamgauge.errors import UsageError
from streamgauge.evaluate import evaluate
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.record import check_recorded
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir(Path(shutil.copytree(GOLDEN, tmp_path / "run")))


def rewrite(run: RunDir, stream: str, change: Any) -> None:
    """Change the rows of partition 0."""
    for file in sorted(run.recorded(stream).glob("*.parquet")):
        table = pq.read_table(file)
        if table["partition"][0].as_py() == 0:
            pq.write_table(change(table), file)


def check(run: RunDir) -> None:
    check_recorded(run, Facts.read(run))


def test_the_rows_of_a_run_agree(run: RunDir) -> None:
    check(run)


@pytest.mark.parametrize("stream", ["flow", "output"])
def test_missing_rows_are_refused(run: RunDir, stream: str) -> None:
    rewrite(run, stream, lambda table: table.slice(0, table.num_rows - 3))
    with pytest.raises(UsageError, match=f"{stream}, partition 0"):
        check(run)
    # Before Spark is asked for anything, and before there is a verdict.
    run.summary_path.unlink()
    with pytest.raises(UsageError, match="do not agree") as refused:
        evaluate(lambda: pytest.fail("Spark is not needed"), run)
    assert refused.value.exit_code == 2
    assert not run.summary_path.exists()


def test_rows_beyond_the_end_are_refused(run: RunDir) -> None:
    rewrite(run, "output", lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    with pytest.raises(UsageError, match="output, partition 0"):
        check(run)


def test_a_partition_without_its_file_is_refused(run: RunDir) -> None:
    first = min(run.recorded("speed").glob("*.parquet"))
    first.unlink()
    with pytest.raises(UsageError, match=r"speed, partition .: 0 rows"):
        check(run)


@pytest.mark.parametrize(
    ("engine", "scenario"),
    [({"transactional": True}, {}), ({"name": "command"}, {}), ({}, {"script": {"path": "my.py", "sha256": "1a2b"}})],
)
def test_transactions_leave_gaps_in_the_output_alone(
    run: RunDir, engine: dict[str, Any], scenario: dict[str, Any]
) -> None:
    manifest = content(run.manifest_path)
    changed = {"engine": manifest["engine"] | engine, "scenario": manifest["scenario"] | scenario}
    write_json(run.manifest_path, {**manifest, **changed})
    rewrite(run, "output", lambda table: table.slice(3))
    check(run)
    rewrite(run, "flow", lambda table: table.slice(3))
    with pytest.raises(UsageError, match="flow, partition 0"):
        check(run)


def test_a_run_of_which_no_ends_are_known_is_not_checked(run: RunDir) -> None:
    change(run.outcome_path, ends={})
    rewrite(run, "flow", lambda table: table.slice(3))
    check(run)


def test_what_was_noted_while_it_ran_is_a_warning_of_the_summary(run: RunDir) -> None:
    from streamgauge.evaluate import evaluate_without_spark

    change(run.manifest_path, warnings=["another run was active"])
    change(run.outcome_path, warnings=["the guardian died"])
    assert evaluate_without_spark(run).warnings[:2] == ["another run was active", "the guardian died"]
