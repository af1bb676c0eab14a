"""What the Spark engine plans and refuses for a standalone cluster, and when its driver counts the cluster as ready."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_jobs import make_job
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.engines.spark import cluster, driver
from streamgauge.errors import EngineFailed, EnvironmentProblem, Unsupported, UsageError
from streamgauge.measure import faults
from streamgauge.model import Job, ProcessSpec
from streamgauge.studies import scenario as scenarios

SPARK = registry.engine("spark")


def standalone(**options: Any) -> Job:
    return make_job("spark", {"cluster": "standalone", **options}, ports=(7077, 8080))


def planned(**options: Any) -> dict[str, ProcessSpec]:
    return {spec.role: spec for spec in SPARK.plan(standalone(**options))}


def settings(spec: ProcessSpec) -> dict[str, str]:
    return dict(spec.argv[at + 1].split("=", 1) for at, word in enumerate(spec.argv) if word == "--conf")


def test_processes_of_a_cluster() -> None:
    specs = planned(workers=3, worker_cores=2, worker_memory_mb=700)
    assert list(specs) == ["master", "worker-1", "worker-2", "worker-3", "driver"]
    assert {spec.group for spec in specs.values()} == {"engine"}
    assert [spec.roles for spec in specs.values() if spec.members] == [
        (f"worker-{number}", f"executor-{number}") for number in (1, 2, 3)
    ]
    worker = " ".join(specs["worker-2"].argv)
    assert "--cores 2 --memory 700M --work-dir /run/worker-2 spark://127.0.0.1:7077" in worker
    assert "--host 127.0.0.1" in worker and "--host 127.0.0.1 --port 7077" in " ".join(specs["master"].argv)
    assert specs["worker-1"].env["SPARK_SCALA_VERSION"] == "2.13"
    assert Path("/run/job.json") in specs["master"].files, "the first process finds the job's directory"


def test_each_worker_gets_one_executor_with_all_it_has() -> None:
    driver_spec = planned(workers=3, worker_cores=2, worker_memory_mb=700, gc="Parallel")["driver"]
    conf = settings(driver_spec)
    assert (conf["spark.executor.cores"], conf["spark.executor.memory"]) == ("2", "700m")
    assert conf["spark.sql.shuffle.partitions"] == "6"
    assert "-XX:+UseParallelGC" in conf["spark.executor.extraJavaOptions"]
    assert "127.0.0.1:8080" in driver_spec.argv
    assert driver_spec.argv[driver_spec.argv.index("--master") + 1] == "spark://127.0.0.1:7077"


def test_driver_and_executors_without_the_optimising_compiler() -> None:
    flag = "-XX:TieredStopAtLevel=1"
    for jit, expected in (("quick", True), ("full", False)):
        driver_spec = planned(jit=jit)["driver"]
        assert (flag in settings(driver_spec)["spark.executor.extraJavaOptions"]) is expected
        assert (flag in driver_spec.argv) is expected


def test_user_settings_take_precedence() -> None:
    assert settings(planned(**{"spark.executor.cores": 4})["driver"])["spark.executor.cores"] == "4"


def test_defaults_are_written_down() -> None:
    options = standalone().options
    assert [options[name] for name in ("workers", "worker_cores", "worker_memory_mb", "cores")] == [2, 1, 1024, 2]
    # As when a run is repeated from its manifest.
    assert SPARK.options.model_validate(options).model_dump() == options
    assert standalone(workers=3, worker_cores=2, cores=1).options["cores"] == 6


def test_roles_without_a_cluster_are_the_old_ones() -> None:
    assert [spec.role for spec in SPARK.plan(make_job("spark", {}))] == ["engine-jvm", "engine"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"workers": 2}, "workers=2: expected only with cluster=standalone"),
        ({"worker_cores": 2, "worker_memory_mb": 900}, "worker_cores=2, worker_memory_mb=900: expected only"),
        ({"cluster": "standalone", "worker_memory_mb": 100}, "worker_memory_mb=100: expected at least 450"),
        ({"cluster": "standalone", "workers": "2"}, "valid integer"),
        ({"cluster": "yarn"}, "'local' or 'standalone'"),
    ],
)
def test_options_that_conflict(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        SPARK.options.model_validate(options)


def test_a_cluster_of_the_run_and_one_of_the_users_conflict() -> None:
    with pytest.raises(Unsupported, match="cluster=standalone and master conflict"):
        SPARK.options.model_validate({"cluster": "standalone", "master": "spark://host:7077"})


def test_real_time_mode_needs_a_core_for_each_partition() -> None:
    with pytest.raises(UsageError, match="at least 4 cores"):
        planned(realtime=True)
    assert "driver" in planned(realtime=True, worker_cores=2)


def test_a_java_without_the_module_that_executors_need_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "release").write_text('JAVA_VERSION="21"\nMODULES="java.base java.sql"\n')
    with pytest.raises(EnvironmentProblem, match="complete Java"):
        cluster.check(standalone(), tmp_path / "bin" / "java")
    (tmp_path / "release").write_text('MODULES="java.base jdk.incubator.vector"\n')
    cluster.check(standalone(), tmp_path / "bin" / "java")
    (tmp_path / "release").unlink()
    cluster.check(standalone(), tmp_path / "bin" / "java")


def test_memory_counts_every_worker() -> None:
    one, two, local = (
        SPARK.memory_mb(job.options) for job in (standalone(workers=1), standalone(workers=2), make_job("spark", {}))
    )
    assert two - one > 1024
    assert one - local > 1024


@pytest.mark.parametrize("fault", ["kill executor-2 at 50%", "pause worker-1 for 2s at 5s", "kill master at 5s"])
def test_faults_know_the_roles_of_a_cluster(fault: str) -> None:
    resolved = scenarios.resolve("ospbench/latency", engine="spark", changes={"cluster": "standalone"})
    faults.check(resolved.__class__(**{**vars(resolved), "faults": (faults.parse(fault),)}), list(planned().values()))


class Context:
    """Stands for the driver's side: one more executor at every look, until it is stopped."""

    def __init__(self, stopped_after: int = 100) -> None:
        self.looks, self.stopped_after = 0, stopped_after

    def sc(self) -> Context:
        return self

    def applicationId(self) -> str:
        return "app-1"

    def isStopped(self) -> bool:
        self.looks += 1
        return self.looks > self.stopped_after

    def statusTracker(self) -> Any:
        return SimpleNamespace(getExecutorInfos=lambda: ["driver", *("executor" for _ in range(self.looks - 1))])


def await_executors(context: Context, work_dir: Path, least: int = 1) -> None:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=context))
    driver.await_executors(session, "127.0.0.1:1", work_dir, threading.Event(), least)


def test_ready_when_each_worker_has_an_executor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "_LOOK_S", 0.0)
    answers = iter([None, 0, 3, 3, 3])
    monkeypatch.setattr(driver, "alive_workers", lambda _: next(answers, 3))
    context = Context()
    await_executors(context, tmp_path)
    assert context.looks == 4


def test_a_worker_that_has_not_registered_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "_LOOK_S", 0.0)
    answers = iter([2, 2, 2, 2, 2, 3])
    monkeypatch.setattr(driver, "alive_workers", lambda _: next(answers))
    context = Context()
    await_executors(context, tmp_path, least=3)
    assert context.looks == 6


def test_a_cluster_that_gives_up_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "_LOOK_S", 0.0)
    monkeypatch.setattr(driver, "alive_workers", lambda _: 3)
    with pytest.raises(EngineFailed, match="cannot run an executor"):
        await_executors(Context(stopped_after=2), tmp_path)


def test_executors_that_cannot_start_are_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "_LOOK_S", 0.0)
    monkeypatch.setattr(driver, "alive_workers", lambda _: 50)
    for application, starts in (("app-0", 999), ("app-1", 251)):
        for number in range(starts):
            log = tmp_path / "worker-1" / application / str(number) / "stderr"
            log.parent.mkdir(parents=True)
            log.write_text("Spark Executor Command\n====\n\n")
            log.with_name("stdout").write_text(f"Module {application} not found\n" * (number % 2))
    with pytest.raises(EngineFailed, match=r"as soon as they are started: Module app-1 not found$"):
        await_executors(Context(), tmp_path)
    shutil.rmtree(tmp_path / "worker-1" / "app-1" / "0")
    with pytest.raises(EngineFailed, match="cannot run an executor"):
        await_executors(Context(stopped_after=2), tmp_path)


def test_a_master_that_does_not_answer_has_no_workers() -> None:
    assert driver.alive_workers("127.0.0.1:1") is None
