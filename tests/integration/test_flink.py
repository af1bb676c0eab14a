"""Flink on a real broker: failing starts, RocksDB state, and a killed TaskManager."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest
from driving import Measure, streamgauge

from streamgauge.conformance.suite import Bench

pytestmark = [pytest.mark.engine("flink"), pytest.mark.full]


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Separate temp and state directories, in which nothing may be left."""
    places = {"TMPDIR": tmp_path / "tmp", "STREAMGAUGE_STATE": tmp_path / "state"}
    for place in places.values():
        place.mkdir()
    return {name: str(place) for name, place in places.items()}


def left(machine: dict[str, str]) -> list[str]:
    """Files, and processes that were started with this temp directory."""
    temp, state = Path(machine["TMPDIR"]), Path(machine["STREAMGAUGE_STATE"])
    paths = [str(path) for path in temp.iterdir() if not path.name.startswith("hsperfdata")]
    paths += [str(path) for path in state.rglob("*.jsonl")]
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("TMPDIR") == machine["TMPDIR"]:
                paths.append(str(process))
        except psutil.Error:
            continue
    return paths


@pytest.mark.parametrize(
    ("setting", "role", "says"),
    [
        # The cluster cannot be set up: our main() is never reached.
        ("jobmanager.scheduler=none", "jobmanager", "SchedulerType"),
        # The job cannot be built: our main() throws.
        ("pipeline.auto-watermark-interval=soon", "jobmanager", "soon"),
        # The job is built but cannot run: main() and the watcher notice at the same time.
        ("state.backend.type=no-such-backend", "(watcher|jobmanager)", "ClassNotFoundException: no-such-backend"),
        # A TaskManager refuses its settings.
        ("taskmanager.memory.network.max=1m", "taskmanager-1", "The network memory min"),
    ],
)
def test_a_start_that_fails_shows_the_right_log_and_leaves_nothing(
    shared: Bench, machine: dict[str, str], tmp_path: Path, setting: str, role: str, says: str
) -> None:
    done = streamgauge(
        "run", "ospbench/latency", "--engine", "flink", "--set", setting, "--bootstrap", shared.transport_address,
        "--out", str(tmp_path / "run"), env=machine,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert re.search(f"process {role} (ended|did not become usable)", done.stdout)
    assert re.search(f"last lines of .*/{role}.log:", done.stdout)
    assert says in done.stdout
    assert "Traceback" not in done.stderr
    assert left(machine) == []


def test_state_in_rocksdb(measure: Measure) -> None:
    _, summary = measure("flink", stage="sliding", state_backend="rocksdb")
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["matched"] == summary.results["expected"] > 0


@pytest.mark.parametrize(
    ("stage", "implementation", "delivery", "slots"),
    [
        ("tumbling", "customised", "exactly-once", 1),
        # More slots than partitions: a source without a partition must not hold back the watermark.
        ("tumbling", "built-in", "exactly-once", 2),
        ("ingest", "built-in", "at-least-once", 1),
    ],
)
def test_a_killed_task_manager_costs_no_result(
    measure: Measure, stage: str, implementation: str, delivery: str, slots: int
) -> None:
    _, summary = measure(
        "flink",
        faults=("kill taskmanager-1 at 50%",),
        stage=stage,
        implementation=implementation,
        delivery=delivery,
        taskmanagers=2,
        slots=slots,
        spare=1,
        # Results since the last checkpoint are published again, unless they were not visible yet.
        checkpoint_ms=1000 if delivery == "exactly-once" else 4000,
        idle_ms=600_000,  # no source becomes idle during the run: one without records would hold back all windows
        measured_s=16,
    )
    assert summary.verdict == "VALID", summary.reasons
    results = summary.results
    assert results["matched"] == results["expected"] > 0
    assert (results["duplicates"] == 0) is (delivery == "exactly-once")
    (fault,) = summary.faults
    assert (fault.role, fault.took_effect) == ("taskmanager-1", True)
    commands = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
    assert [command for command in commands if "org.apache.flink" in command] == []
