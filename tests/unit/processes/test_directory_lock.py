"""One command at a time uses a directory; a killed one releases it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.campaigns.capacity import CapacitySearch, find_capacity
from streamgauge.campaigns.capacity_set import find_capacities
from streamgauge.campaigns.repetition import run_interleaved
from streamgauge.campaigns.reproduction import reproduce
from streamgauge.campaigns.reproduction_plan import ReproductionRequest
from streamgauge.errors import UsageError
from streamgauge.measure.evaluation import evaluate_again
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.processes import directory_lock, leftovers
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

HOLDER = """
import sys
from pathlib import Path
from streamgauge.processes import directory_lock
with directory_lock.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_directory_in_use_is_refused_until_its_holder_is_killed(tmp_path, state):
    target = tmp_path / "not there yet"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        (tmp_path / "link").symlink_to(target)
        for path in (target, tmp_path / "link", Path(os.path.relpath(target))):
            with (
                pytest.raises(UsageError, match=f"process {holder.pid} holds it") as refused,
                directory_lock.hold(path),
            ):
                pass
            assert refused.value.exit_code == 2
        with directory_lock.hold(tmp_path / "another"):
            pass
        directory_lock.remove_stale()
        assert len(list((state / "locks").iterdir())) == 1
        assert [directory_lock.is_held(one) for one in (target, tmp_path / "another")] == [True, False]
        holder.kill()
        holder.wait()
        assert not directory_lock.is_held(target)
        with directory_lock.hold(target):
            assert not target.exists()
    assert list((state / "locks").iterdir()) == []


def test_the_lock_of_a_killed_command_is_removed(tmp_path, state):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "out")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        holder.wait()
    assert len(list((state / "locks").iterdir())) == 1
    leftovers.clear(print, print)
    assert list((state / "locks").iterdir()) == []


def test_a_lock_file_that_its_holder_removed_is_not_held(tmp_path, state, monkeypatch):
    """The last holder removes the file after it was opened and before it is locked: the new file must be locked."""
    locked = []
    real = directory_lock.fcntl.flock

    def remove_first(handle: int, operation: int) -> None:
        if not locked:
            (path,) = (state / "locks").iterdir()
            path.unlink()
        locked.append(handle)
        real(handle, operation)

    monkeypatch.setattr(directory_lock.fcntl, "flock", remove_first)
    with directory_lock.hold(tmp_path / "out"):
        assert len(locked) == 2
        with pytest.raises(UsageError), directory_lock.hold(tmp_path / "out"):
            pass


def interleaved(out: Path) -> None:
    run_interleaved([Request(scenarios.resolve("ospbench/latency", engine="echo"), out)], 2, NullReporter())


def search(out: Path) -> None:
    find_capacity(capacity_search(out), NullReporter())


def searches(out: Path) -> None:
    find_capacities(capacity_search(out), 3, NullReporter())


def capacity_search(out: Path) -> CapacitySearch:
    return CapacitySearch(
        Request(scenarios.resolve("ospbench/throughput", engine="echo", changes={"stage": "ingest"}), out), 0.1
    )


def reproduction(out: Path) -> None:
    reproduce(ReproductionRequest("ospbench", out, engines=("echo",)), NullReporter())  # type: ignore[arg-type]


def evaluation(out: Path) -> None:
    evaluate_again(RunDir(out), "local[*]", NullReporter())


@pytest.mark.parametrize("command", [interleaved, search, searches, reproduction, evaluation])
def test_every_command_that_writes_holds_its_directory(tmp_path, command):
    with directory_lock.hold(tmp_path / "out"), pytest.raises(UsageError, match="another command is using"):
        command(tmp_path / "out")
    assert not (tmp_path / "out").exists()
