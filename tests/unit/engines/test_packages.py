"""Packages of an unchanged script are resolved outside its fence."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import make_job

from streamgauge.engines.pyspark import PySpark
from streamgauge.engines.pyspark.packages import PackageResolver

WAIT_S = 30


def answer_of(program: str, tmp_path: Path) -> dict[str, Any]:
    """What the resolver answers if the script's interpreter is this shell program."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o700)
    (tmp_path / "x.packages").write_text('{"spark.jars.packages": "a:b:1"}')
    resolver = PackageResolver(tmp_path, str(python), {})
    deadline = time.monotonic() + WAIT_S
    while not (tmp_path / "x.jars").exists() and time.monotonic() < deadline:
        resolver.look()
    resolver.look()  # an answered request is not asked for again
    resolver.stop()
    answer: dict[str, Any] = json.loads((tmp_path / "x.jars").read_text())
    return answer


def test_the_jars_are_those_that_spark_names(tmp_path: Path) -> None:
    answer = answer_of('read -r request; echo "$request" > asked; echo jars:file:///a.jar,file:///b.jar', tmp_path)
    assert answer == {"jars": ["file:///a.jar", "file:///b.jar"], "problem": ""}
    assert json.loads((tmp_path / "asked").read_text()) == {"spark.jars.packages": "a:b:1"}


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("echo ':: a#b;1: not found'; echo jars:; exit 1", ":: a#b;1: not found"),
        ("echo 'java.net.UnknownHostException: no.example' >&2; exit 1", "java.net.UnknownHostException: no.example"),
        ("exit 3", "exit code 3"),
    ],
)
def test_a_failure_has_a_reason(tmp_path: Path, program: str, problem: str) -> None:
    assert answer_of(program, tmp_path) == {"jars": [], "problem": problem}


def test_packages_of_the_users_defaults_are_not_left_to_the_scripts_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars.packages  a:b:1\nspark.sql.shuffle.partitions 3\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    inputs, outputs = {"orders": "run.orders"}, {"commits": "run.commits"}
    job = make_job("pyspark", {}, workload="yours/committed", program=(__file__,), inputs=inputs, outputs=outputs)
    files = {path.name: text for path, text in PySpark().plan(job)[0].files.items()}
    assert json.loads(files["shim.json"])["packages"] == "a:b:1"
    assert "packages" not in files["spark-defaults.conf"]
    assert "spark.sql.shuffle.partitions 3\n" in files["spark-defaults.conf"]
