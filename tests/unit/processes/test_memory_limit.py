"""Control groups that limit memory: where they can be made, and a real one where this system permits it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamgauge.model import ProcessSpec, Ready
from streamgauge.processes import memory_limit
from streamgauge.processes.supervisor import Supervisor

LIMIT_MB = 64
GREEDY = """
import json, sys
print(json.dumps({"event": "ready"}), flush=True)
sys.stdin.readline()
held = [b"x" * 2**20 for _ in range(512)]
print(json.dumps({"event": "took-it-all"}), flush=True)
sys.stdin.readline()
"""


def group(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    for name, text in {"cgroup_procs": "", **files}.items():
        (path / name.replace("_", ".", 1)).write_text(text)
    return path


def own(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "own"
    file.write_text(text)
    return file


def test_version_1_limits_below_the_own_group(tmp_path: Path) -> None:
    mine = group(tmp_path / "mount" / "memory" / "a" / "b", memory_limit_in_bytes="")
    assert memory_limit.parent(tmp_path / "mount", own(tmp_path, "5:cpu:/\n4:memory:/a/b\n0::/\n")) == mine


def test_version_2_limits_below_the_nearest_group_that_passes_memory_on(tmp_path: Path) -> None:
    group(tmp_path / "mount", cgroup_subtree_control="cpu memory pids\n")
    slice_ = group(tmp_path / "mount" / "user.slice", cgroup_subtree_control="memory\n")
    group(slice_ / "session", cgroup_subtree_control="\n")
    assert memory_limit.parent(tmp_path / "mount", own(tmp_path, "0::/user.slice/session\n")) == slice_


def test_nothing_is_permitted(tmp_path: Path) -> None:
    assert memory_limit.parent(tmp_path / "mount", tmp_path / "none") is None
    assert memory_limit.parent(tmp_path / "mount", own(tmp_path, "0::/session\n")) is None
    group(tmp_path / "mount", cgroup_subtree_control="cpu\n")
    assert memory_limit.parent(tmp_path / "mount", own(tmp_path, "0::/\n")) is None


@pytest.mark.parametrize(
    ("name", "text", "killed"),
    [
        ("memory.events", "low 0\noom 3\noom_kill 1\n", True),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", False),
        ("other", "", False),
    ],
)
def test_whether_the_kernel_ended_a_process(tmp_path: Path, name: str, text: str, killed: bool) -> None:
    (tmp_path / name).write_text(text)
    assert memory_limit.killed(tmp_path) is killed


def test_a_process_that_uses_up_its_limit_is_ended_and_its_group_removed() -> None:
    parent = memory_limit.parent()
    if parent is None:
        pytest.skip("this system permits no control groups to this user")
    spec = ProcessSpec(
        role="greedy",
        group="engine",
        argv=[sys.executable, "-c", GREEDY],
        ready=Ready("event", "ready"),
        memory_max_mb=LIMIT_MB,
    )
    with Supervisor("limited") as supervisor:
        running = supervisor.start(spec)
        if running.control_group is None:
            pytest.skip("this system permits no control groups to this user")
        assert running.control_group.is_dir()
        supervisor.send("greedy", "go")
        assert running.wait(60)
        [ended] = supervisor.ended()
        assert ended.message == f"the kernel ended it: its limit of {LIMIT_MB} MB of memory was used up"
        made = running.control_group
    assert not made.exists()
