"""The load as tasks of a Spark job, on a real cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from clusters import Cluster, standalone

import streamgauge
from attempts import until_valid
from streamgauge.rundir import RunDir

pytestmark = [pytest.mark.engine("echo"), pytest.mark.full, pytest.mark.timeout(900)]
WORKERS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with standalone(WORKERS) as started:
        yield started


def measure(cluster: Cluster, out: Path, duration: int = 10) -> streamgauge.RunResult:
    return streamgauge.run(
        "ospbench/latency",
        engine="echo",
        rate=3000,
        duration=duration,
        warmup=5,
        generators=WORKERS,
        load_master=cluster.address,
        out=out,
    )


def load_tasks() -> list[psutil.Process]:
    """The load workers that the executors run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if "streamgauge.load.worker" in (process.info["cmdline"] or []):
            found.append(process)
    return found


def own_python(directory: Path) -> Path:
    """A Python for the executors, which leaves a file behind."""
    python, used = directory / "python", directory / "used"
    python.write_text(f'#!/bin/sh\ntouch "{used}"\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (directory / "spark-defaults.conf").write_text(f"spark.pyspark.python {python}\n", encoding="utf-8")
    return used


def test_load_of_three_workers_of_spark(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = own_python(tmp_path)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    result = until_valid(
        lambda number: measure(cluster, tmp_path / str(number)), lambda result: result.verdict == "INVALID"
    )
    assert result.valid, result.reasons
    assert used.exists(), "the executors have the settings of the user's own Spark"
    run = RunDir(result.directory)
    assert len([*(run.path / "ledger").glob("worker-*.parquet")]) == WORKERS
    assert result.summary.results["matched"] == result.summary.results["expected"] == 3000 * 15
    assert not load_tasks()
    before = run.summary_path.read_bytes()
    evaluate = [sys.executable, "-m", "streamgauge", "evaluate", str(run.path), "--evaluator-master", cluster.address]
    subprocess.run(evaluate, check=True, capture_output=True)
    assert run.summary_path.read_bytes() == before


def test_a_lost_task_makes_the_run_invalid(cluster: Cluster, tmp_path: Path) -> None:
    killed = threading.Event()

    def kill_one() -> None:
        """As soon as records arrive."""
        while not killed.wait(0.5):
            tasks = load_tasks()
            if len(tasks) == WORKERS and all(task.create_time() and task.cpu_times().user > 2 for task in tasks):
                executor = tasks[0].parents()[2]
                executor.send_signal(signal.SIGKILL)
                killed.set()

    thread = threading.Thread(target=kill_one)
    thread.start()
    try:
        result = measure(cluster, tmp_path / "run", duration=60)
    finally:
        killed.set()
        thread.join()
    assert result.verdict == "INVALID"
    assert any("load task" in reason and "was lost" in reason for reason in result.reasons), result.reasons
    assert not load_tasks()
