"""The evaluation on a user's Spark: a standalone master and worker, started here."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import streamgauge

from streamgauge.jvm.java import find_java
from streamgauge.jvm.spark import spark_home
from streamgauge.model import ProcessSpec, Ready
from streamgauge.processes.ports import free_port
from streamgauge.processes.supervisor import Supervisor

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


def daemon(role: str, work_dir: Path, main: str, *arguments: str, ready: Ready) -> ProcessSpec:
    env = {
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(work_dir),
        "PYSPARK_PYTHON": sys.executable,
    }
    argv = [
        str(find_java().path),
        "-Xmx256m",
        "-Dspark.master.rest.enabled=false",
        "-cp",
        f"{spark_home()}/jars/*",
        main,
    ]
    return ProcessSpec(role=role, group="engine", argv=[*argv, *arguments], env=env, ready=ready)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    port, web, worker, worker_web = (str(free_port()) for _ in range(4))
    address = f"spark://127.0.0.1:{port}"
    package = "org.apache.spark.deploy"
    with Supervisor(f"another-spark-{port}", tmp_path / "logs") as supervisor:
        host = ("--host", "127.0.0.1")
        arguments = (*host, "--port", port, "--webui-port", web)
        alive = Ready("log", "New state: ALIVE")
        supervisor.start(daemon("master", supervisor.work_dir, f"{package}.master.Master", *arguments, ready=alive))
        arguments = (*host, "--port", worker, "--webui-port", worker_web, "--cores", "1", "--memory", "2g")
        work = ("--work-dir", str(supervisor.work_dir / "worker"), address)
        registered = Ready("log", "Successfully registered with master")
        supervisor.start(
            daemon("worker", supervisor.work_dir, f"{package}.worker.Worker", *arguments, *work, ready=registered)
        )
        yield address


@pytest.mark.full
def test_evaluate_on_another_spark(master: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    (run / "summary.json").unlink()
    done = streamgauge("evaluate", str(run), "--master", master)
    assert done.returncode == 4, done.stderr  # as it was: the engine of that run lost records on purpose
    assert (run / "summary.json").read_bytes() == (GOLDEN / "summary.json").read_bytes()
