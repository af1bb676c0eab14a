"""What would stop a run, for `plan` and `run` alike; and what a run is called."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.machine import description as machine
from streamgauge.measure import preflight
from streamgauge.measure.plan import Request, name_of, run_name
from streamgauge.studies import scenario as scenarios

ECHO = scenarios.resolve("ospbench/latency", engine="echo")


def test_a_run_that_could_start_is_laid_out_and_leaves_nothing(tmp_path: Path) -> None:
    plan = preflight.check(Request(ECHO, tmp_path / "out"))
    assert [spec.role for spec in plan.processes][-1] == "evaluate"
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_and_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory_mb", lambda: 1)
    with pytest.raises(EnvironmentProblem, match="too little memory"):
        preflight.check(Request(ECHO, tmp_path / "out"))
    monkeypatch.undo()
    monkeypatch.setattr(machine, "free_disk_mb", lambda path: 1)
    with pytest.raises(EnvironmentProblem, match="too little disk"):
        preflight.check(Request(ECHO, tmp_path / "out"))


def test_a_directory_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="no permission to write"):
        preflight.check(Request(ECHO, tmp_path / "out"))


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(EnvironmentProblem, match="cannot be reached") as refused:
            preflight.check(Request(ECHO, tmp_path / "out", transport_address=address))
    assert refused.value.where == f"--bootstrap {address}"


def test_a_setting_that_spark_does_not_know_is_a_warning(tmp_path: Path) -> None:
    changes = {"spark.sql.shufle.partitions": "3", "spark.hadoop.fs.any": "x", "spark.executor.memory": "1g"}
    spark = scenarios.resolve("ospbench/latency", changes=changes)
    (warning,) = preflight.check(Request(spark, tmp_path / "out")).warnings
    assert warning.endswith(
        "does not know the setting spark.sql.shufle.partitions; did you mean spark.sql.shuffle.partitions?"
    )


def test_a_run_is_called_as_its_directory(tmp_path: Path) -> None:
    name = run_name(ECHO)
    assert name_of(Request(ECHO, tmp_path / name)) == name
    others = [
        name_of(Request(ECHO, tmp_path / other)) for other in ("1", "mine", f"{name}-b", name.replace("echo", "x"))
    ]
    assert len({name, *others}) == 5 and all(other.startswith("ospbench-latency-echo-2") for other in others)
    spark = replace(ECHO, engine="spark")
    assert name_of(Request(spark, tmp_path / name)) != name, "a directory of another engine's"
