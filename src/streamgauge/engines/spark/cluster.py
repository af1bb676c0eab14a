"""The processes of a standalone cluster of Spark: a Master, its Workers and the driver, all on the loopback interface.

An executor is a child of its Worker, which starts it when the driver asks the Master for one.
"""

from __future__ import annotations

import glob
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.engines.garbage_collector import GC_OPTIONS
from streamgauge.engines.job_file import job_file
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.jvm import spark
from streamgauge.jvm.java import JIT_OPTIONS, find_java
from streamgauge.model import Job, Member, ProcessSpec, Ready, Stop

DEFAULTS: Mapping[str, int] = {"workers": 2, "worker_cores": 1, "worker_memory_mb": 1024}

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_NEEDED_MODULE = "jdk.incubator.vector"
_DAEMON_HEAP_MB = 128
_DAEMON_MB = 200
"""Memory of a Master or a Worker."""
_OUTSIDE_HEAP_MB = 450
"""Memory of an executor outside its heap, with its Python processes."""
_LOST_AFTER_S = 20
"""After this time without a heartbeat, a paused process counts as lost; a killed one is noticed at once."""
_START_S = 120
"""The longest time until a process must be usable."""
_STARTING_S, _STARTING_WORKER_S = 3.0, 1.0
"""Master and executors; each Worker besides. For estimates."""
_SIGTERM_CODE = 143

_LOGGERS = f"""
# They log when the Master is active, when a Worker has registered, and the start of each executor.
logger.master.name = {_MASTER}
logger.master.level = info
logger.worker.name = {_WORKER}
logger.worker.level = info
"""


def address(job: Job) -> str:
    return f"spark://{spark.LOOPBACK}:{job.ports[0]}"


def memory_mb(options: Mapping[str, Any]) -> int:
    """Memory of the Master and of all Workers with their executors."""
    worker_mb = _DAEMON_MB + options["worker_memory_mb"] + _OUTSIDE_HEAP_MB
    return _DAEMON_MB + int(options["workers"] * worker_mb)


def starting_s(options: Mapping[str, Any]) -> float:
    """About how long a cluster takes to start on two cores, beyond a driver alone."""
    return _STARTING_S + float(options["workers"] * _STARTING_WORKER_S)


def check(job: Job, java: Path) -> None:
    """Raises UsageError if a real-time query would wait forever for a core, EnvironmentProblem for a small Java."""
    if _NEEDED_MODULE not in _modules(java):
        raise EnvironmentProblem(
            "cluster=standalone needs a complete Java: Spark starts executors with the module " + _NEEDED_MODULE,
            where=java,
            got="a Java without it",
            hint="install a JDK and set STREAMGAUGE_JAVA to its bin/java, or leave out --set cluster=standalone",
        )
    partitions = len(job.inputs) * job.partitions
    if job.options["realtime"] and job.options["cores"] < partitions:
        raise UsageError(
            "the cluster is too small for real-time mode, in which every input partition occupies a core permanently",
            got=f"workers={job.options['workers']} × worker_cores={job.options['worker_cores']}",
            expected=f"at least {partitions} cores for {partitions} input partitions",
            hint=f"--set worker_cores={-(-partitions // job.options['workers'])}",
        )


def settings(job: Job) -> dict[str, str]:
    """The driver's settings: one executor on each Worker, with all of its cores and memory."""
    options = job.options
    java_options = [
        GC_OPTIONS[options["gc"]],
        *JIT_OPTIONS[options["jit"]],
        f"-Djava.io.tmpdir={job.work_dir}",
        f"-Dlog4j2.configurationFile={spark.LOG_SETTINGS}",
    ]
    return {
        "spark.executor.cores": str(options["worker_cores"]),
        "spark.executor.memory": f"{options['worker_memory_mb']}m",
        "spark.executor.extraJavaOptions": shlex.join(java_options),
        "spark.executor.heartbeatInterval": "1s",
        # Not spark.network.timeout, which would also limit how long a request may take on a busy machine.
        "spark.storage.blockManagerHeartbeatTimeoutMs": f"{_LOST_AFTER_S}s",
        "spark.network.timeoutInterval": "1s",
    }


def processes(job: Job, connection: Path, jvm_argv: Sequence[str], jvm_env: Mapping[str, str]) -> list[ProcessSpec]:
    """The Master, the Workers and the driver, whose JVM is started with ``jvm_argv``."""
    check(job, find_java().path)
    port, web_port = (str(number) for number in job.ports)
    log_settings = _log_settings(job)
    master = ProcessSpec(
        role="master",
        group="engine",
        argv=[*_java(job), _MASTER, "--host", spark.LOOPBACK, "--port", port, "--webui-port", web_port],
        env=_env(job),
        files={**job_file(job), log_settings: spark.LOG_SETTINGS.read_text(encoding="utf-8") + _LOGGERS},
        # Before that, a Worker is refused and tries again several seconds later.
        ready=Ready("log", "New state: ALIVE", timeout_s=_START_S),
        stop=Stop("terminate", grace_s=15, exit_codes=(_SIGTERM_CODE,)),
    )
    driver = ProcessSpec(
        role="driver",
        group="engine",
        argv=[
            *(sys.executable, "-P", "-m", "streamgauge.engines.spark.driver"),
            *(str(connection), str(job.file), f"{spark.LOOPBACK}:{web_port}", *jvm_argv),
        ],
        env=jvm_env,
        ready=Ready("event", "ready", timeout_s=2 * _START_S),
        stop=Stop("terminate", grace_s=35),
    )
    return [master, *(_worker(job, number) for number in range(1, job.options["workers"] + 1)), driver]


def _worker(job: Job, number: int) -> ProcessSpec:
    role, options = f"worker-{number}", job.options
    work_dir = job.work_dir / role
    return ProcessSpec(
        role=role,
        group="engine",
        argv=[
            *(*_java(job), _WORKER, "--host", spark.LOOPBACK, "--port", "0", "--webui-port", "0"),
            *("--cores", str(options["worker_cores"]), "--memory", f"{options['worker_memory_mb']}M"),
            *("--work-dir", str(work_dir), address(job)),
        ],
        env=_env(job),
        # At first, Workers and driver start side by side, and the driver waits for all of them.
        ready_again=Ready("log", "Successfully registered with master", timeout_s=_START_S),
        stop=Stop("terminate", grace_s=15, exit_codes=(_SIGTERM_CODE,)),
        node=True,
        members=(Member(f"executor-{number}", _EXECUTOR, logs=f"{glob.escape(str(work_dir))}/*/*/std*"),),
    )


def _modules(java: Path) -> Collection[str]:
    """The modules of a Java runtime; if it does not list them, what is needed."""
    try:
        text = (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        text = ""
    listed = re.search(r'^MODULES="(.*)"$', text, re.MULTILINE)
    return listed[1].split() if listed else (_NEEDED_MODULE,)


def _java(job: Job) -> list[str]:
    return [
        str(find_java().path),
        f"-Xmx{_DAEMON_HEAP_MB}m",
        "-XX:+UseSerialGC",
        # No record passes through them: optimising would only take CPU from the executors.
        *JIT_OPTIONS["quick"],
        f"-Djava.io.tmpdir={job.work_dir}",
        f"-Dlog4j2.configurationFile={_log_settings(job).absolute().as_uri()}",
        # Submitting a job runs code, and every user of the machine can reach a loopback port.
        "-Dspark.master.rest.enabled=false",
        f"-Dspark.worker.timeout={_LOST_AFTER_S}",
        "-cp",
        str(spark.spark_home() / "jars" / "*"),
    ]


def _env(job: Job) -> dict[str, str]:
    """Executors inherit the environment of their Worker."""
    return {
        "SPARK_HOME": str(spark.spark_home()),
        "SPARK_CONF_DIR": str(job.work_dir),
        # Spark's scripts set it; without it, a Worker cannot start an executor.
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": spark.LOOPBACK,
        "SPARK_LOCAL_HOSTNAME": spark.LOOPBACK,
        "SPARK_LOCAL_DIRS": str(job.work_dir),
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(find_java().path.parent.parent),
    }


def _log_settings(job: Job) -> Path:
    return job.work_dir / "cluster-log4j2.properties"
