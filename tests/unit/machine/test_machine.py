"""The machine's description, and the limits of a container."""

from __future__ import annotations

import os

import psutil
import pytest

from streamgauge.machine import description as machine


def test_describes_this_machine():
    description = machine.describe()
    assert set(description.as_json()) == {
        *("system", "kernel", "cpu", "governor", "cores", "memory_mb", "container", "load_at_start"),
    }
    assert description.system in ("Linux", "Darwin")
    assert description.cpu
    assert 1 <= description.cores <= os.cpu_count()
    assert 0 < description.memory_mb <= psutil.virtual_memory().total // 2**20
    assert description.load_at_start >= 0


def test_available_memory_is_less_than_total():
    assert 0 < machine.available_memory_mb() <= machine.memory_mb()


def test_free_disk_of_a_path_that_does_not_exist_yet(tmp_path):
    assert machine.free_disk_mb(tmp_path / "runs" / "next") > 0
    assert machine.free_disk_mb(tmp_path / "a") == pytest.approx(
        psutil.disk_usage(str(tmp_path)).free // 1_000_000, abs=500
    )


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Files of a control group with limits inside one without."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (inner / "memory.max").write_text(f"{512 * 2**20}\n")
    (inner / "memory.current").write_text(f"{300 * 2**20}\n")
    (inner / "memory.stat").write_text(f"anon 5\ninactive_file {100 * 2**20}\nactive_file 7\n")
    monkeypatch.setattr(machine, "_cgroups", lambda: iter([inner, tmp_path]))
    return inner


def test_limits_of_a_container(container):
    assert machine.memory_mb() == 512
    assert machine.available_memory_mb() == 512 - 300 + 100


@pytest.mark.parametrize(("quota", "cores"), [("50000 100000", 1), ("150000 100000", 2), ("max 100000", 64)])
def test_cores_of_a_container(container, monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    (container / "cpu.max").write_text(quota)
    assert machine.usable_cores() == cores
