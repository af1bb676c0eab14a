"""The JVMs of a Flink cluster in application mode: their command lines and their configuration.

The distribution's shell scripts are not used: each process is one JVM with its own role.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from streamgauge import jars
from streamgauge.engines import java
from streamgauge.engines.garbage_collector import GC_OPTIONS
from streamgauge.engines.job_file import job_file
from streamgauge.engines.settings import as_text
from streamgauge.errors import EnvironmentProblem
from streamgauge.install_hint import install_command
from streamgauge.jvm.java import JIT_OPTIONS, find_java
from streamgauge.model import Job, ProcessSpec, Ready, Stop

PACKAGE = "apache-flink-libraries"
JAVA_PACKAGE = "streamgauge.flink"
LOOPBACK = "127.0.0.1"

_ENTRY_POINT = "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_REGISTERED = "Successful registration at resource manager"

# All that the DataStream API needs: no planner, no Table API.
_NEEDED = ("flink-dist-", "log4j-api-", "log4j-core-", "log4j-slf4j-impl-")

# As Flink's own scripts open them on Java 17, for its serialisers and its network stack.
_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
    "sun.nio.ch",
)

_SIGTERM_CODE = 143
_CLOSED_CODE = 1445 % 256
"""Exit code of a JobManager that shuts down (status UNKNOWN) before the signal ends it."""
_FATAL_CODE = 239
"""Exit code of a TaskManager that treats losing the JobManager during shutdown as a fatal error, as some do."""
_FRAMEWORK_MB = 64
_TASK_OFF_HEAP_MB = 32
_NETWORK_MB_PER_SLOT = 64
_ROCKSDB_MB_PER_SLOT = 128
_METASPACE_MB = 192
_OVERHEAD_MB = 64
_JOB_MANAGER_HEAP_MB = 384
_TRACE_LINES = 10

_LOG = f"""\
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
appender.out.name = out
appender.out.type = CONSOLE
appender.out.layout.type = PatternLayout
# The root cause first, with a short trace: the last lines of the log must show what happened.
appender.out.layout.pattern = %d{{HH:mm:ss,SSS}} %-5p %c{{1}} - %m%n%notEmpty{{%rEx{{{_TRACE_LINES}}}%n}}
appender.out.layout.alwaysWriteExceptions = false
# Logs the registration: "{_REGISTERED}".
logger.registration.name = org.apache.flink.runtime.taskexecutor.TaskExecutor
logger.registration.level = INFO
# It warns at every checkpoint: two parts of the sink register a metric under the same name.
logger.metrics.name = org.apache.flink.metrics.MetricGroup
logger.metrics.level = ERROR
# It warns for every client: the connector's copy of the Kafka client does not know its version.
logger.version.name = org.apache.flink.kafka.shaded.org.apache.kafka.common.utils.AppInfoParser
logger.version.level = ERROR
"""


def home() -> Path:
    """The directory of the wheel with Flink's jars. It is never imported: it contains no Python."""
    try:
        return Path(str(distribution(PACKAGE).locate_file("pyflink")))
    except PackageNotFoundError:
        raise EnvironmentProblem(
            f"engine flink needs the Python package {PACKAGE}",
            got="it is not installed",
            hint=install_command([PACKAGE]),
        ) from None


def libraries() -> list[Path]:
    """The class path without streamgauge's classes."""
    own_jars = sorted(jar for jar in (home() / "lib").glob("*.jar") if jar.name.startswith(_NEEDED))
    return [*own_jars, *jars.locations("flink"), *java.libraries()]


def rest_address(job: Job) -> str:
    return f"{LOOPBACK}:{job.ports[0]}"


def job_manager(job: Job, classes: Path) -> ProcessSpec:
    """The JobManager: it runs streamgauge's ``Main``, which builds the job, and then coordinates it."""
    conf_dir = _conf_dir(job)
    config = "".join(f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in settings(job).items())
    return ProcessSpec(
        role="jobmanager",
        group="engine",
        argv=[
            *_java(job, classes),
            f"-Xms{_JOB_MANAGER_HEAP_MB}m",
            f"-Xmx{_JOB_MANAGER_HEAP_MB}m",
            "-XX:MaxMetaspaceSize=256m",
            GC_OPTIONS["G1"],
            # No record passes through it: optimising would only take CPU from the TaskManagers.
            *JIT_OPTIONS["quick"],
            _ENTRY_POINT,
            "--configDir",
            str(conf_dir),
            "--job-classname",
            f"{JAVA_PACKAGE}.Main",
            str(job.file),
        ],
        env=_env(job),
        files={**job_file(job), conf_dir / "config.yaml": config, conf_dir / "log4j.properties": _LOG},
        stop=Stop("terminate", grace_s=15, exit_codes=(_SIGTERM_CODE, _CLOSED_CODE)),
    )


def task_manager(job: Job, classes: Path, role: str, *, spare: bool = False) -> ProcessSpec:
    """A spare one is awaited, and is not a node: it takes no part unless another one is lost."""
    heap_mb, direct_mb = job.options["heap_mb"], _network_mb(job.options) + _FRAMEWORK_MB + _TASK_OFF_HEAP_MB
    return ProcessSpec(
        role=role,
        group="engine",
        argv=[
            *_java(job, classes),
            f"-Xms{heap_mb}m",
            f"-Xmx{heap_mb}m",
            f"-XX:MaxDirectMemorySize={direct_mb}m",
            f"-XX:MaxMetaspaceSize={_METASPACE_MB}m",
            GC_OPTIONS[job.options["gc"]],
            *JIT_OPTIONS[job.options["jit"]],
            _TASK_MANAGER,
            "--configDir",
            str(_conf_dir(job)),
            "-D",
            f"taskmanager.resource-id={role}",
        ],
        env=_env(job),
        ready=Ready("log", _REGISTERED, timeout_s=60) if spare else Ready(),
        ready_again=Ready("log", _REGISTERED, timeout_s=120),
        stop=Stop("terminate", grace_s=15, exit_codes=(_SIGTERM_CODE, _FATAL_CODE)),
        node=not spare,
    )


def settings(job: Job) -> dict[str, str]:
    """The ``config.yaml`` of every process in the cluster; user settings take precedence."""
    options = job.options
    rest, rpc = job.ports
    slots = options["slots"]
    configuration: dict[str, object] = {
        "jobmanager.rpc.address": LOOPBACK,
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": LOOPBACK,
        "taskmanager.host": LOOPBACK,
        "taskmanager.bind-host": LOOPBACK,
        "rest.address": LOOPBACK,
        "rest.bind-address": LOOPBACK,
        "rest.port": rest,
        "rest.bind-port": rest,
        # Submitting a job runs code, and every user of the machine can reach a loopback port.
        "web.submit.enable": False,
        # By default REST answers are up to 3 s (jobs) or 10 s (metrics) old.
        "web.refresh-interval": 200,
        "metrics.fetcher.update-interval": 200,
        # Keep the cluster up after a failure, so that its cause can be read.
        "execution.shutdown-on-application-finish": False,
        "io.tmp.dirs": job.work_dir / "tmp",
        "blob.storage.directory": job.work_dir / "blob",
        "parallelism.default": options["parallelism"] or options["taskmanagers"] * slots,
        "pipeline.object-reuse": options["object_reuse"],
        # Reject a job that would fall back to Kryo.
        "pipeline.generic-types": False,
        "execution.buffer-timeout.interval": f"{options['buffer_timeout_ms']} ms",
        "execution.checkpointing.interval": f"{options['checkpoint_ms']} ms",
        # For the state, independent of the sink: at-least-once would count records twice after a restart.
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.dir": job.checkpoint_dir.absolute().as_uri(),
        "state.backend.type": options["state_backend"],
        "restart-strategy.type": "fixed-delay",
        # Restarts use a lost TaskManager until its loss is noticed, so one loss causes several restarts.
        "restart-strategy.fixed-delay.attempts": 100,
        "restart-strategy.fixed-delay.delay": "100 ms",
        # A killed TaskManager is noticed after two undeliverable heartbeats, a paused one after the timeout.
        "heartbeat.interval": "500 ms",
        "heartbeat.timeout": "10 s",
        # All processes start together; a TaskManager that is up first retries this soon (default: 10 s).
        "cluster.registration.error-delay": "300 ms",
        "cluster.registration.initial-timeout": "300 ms",
        "cluster.registration.refused-registration-delay": "500 ms",
        # Spread tasks over all TaskManagers instead of filling the first.
        "taskmanager.load-balance.mode": "SLOTS",
        "taskmanager.numberOfTaskSlots": slots,
        # Flink's scripts would compute these; without them each must be set.
        "taskmanager.cpu.cores": slots,
        "taskmanager.memory.framework.heap.size": f"{_FRAMEWORK_MB}m",
        "taskmanager.memory.framework.off-heap.size": f"{_FRAMEWORK_MB}m",
        "taskmanager.memory.task.heap.size": f"{options['heap_mb'] - _FRAMEWORK_MB}m",
        "taskmanager.memory.task.off-heap.size": f"{_TASK_OFF_HEAP_MB}m",
        "taskmanager.memory.network.min": f"{_network_mb(options)}m",
        "taskmanager.memory.network.max": f"{_network_mb(options)}m",
        "taskmanager.memory.managed.size": f"{_managed_mb(options)}m",
        "taskmanager.memory.jvm-metaspace.size": f"{_METASPACE_MB}m",
        "taskmanager.memory.jvm-overhead.min": f"{_OVERHEAD_MB}m",
        "taskmanager.memory.jvm-overhead.max": f"{_OVERHEAD_MB}m",
    }
    return {**{key: as_text(value) for key, value in configuration.items()}, **options["conf"]}


def outside_heap_mb(options: Mapping[str, Any]) -> int:
    """Memory of a TaskManager outside its heap."""
    direct_mb = _network_mb(options) + _FRAMEWORK_MB + _TASK_OFF_HEAP_MB
    return direct_mb + _managed_mb(options) + _METASPACE_MB + _OVERHEAD_MB


def _network_mb(options: Mapping[str, Any]) -> int:
    return _NETWORK_MB_PER_SLOT * int(options["slots"])


def _managed_mb(options: Mapping[str, Any]) -> int:
    """Managed memory, which only RocksDB uses."""
    return _ROCKSDB_MB_PER_SLOT * int(options["slots"]) if options["state_backend"] == "rocksdb" else 0


def _java(job: Job, classes: Path) -> list[str]:
    return [
        str(find_java().path),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        f"-Djava.io.tmpdir={job.work_dir}",
        f"-Dlog4j.configurationFile={(_conf_dir(job) / 'log4j.properties').absolute().as_uri()}",
        "-cp",
        os.pathsep.join(str(path) for path in (*libraries(), classes)),
    ]


def _env(job: Job) -> dict[str, str]:
    """Hides a Flink installation that the user's environment points to."""
    return {
        "FLINK_HOME": str(home()),
        "FLINK_CONF_DIR": str(_conf_dir(job)),
        "FLINK_LIB_DIR": str(home() / "lib"),
        "FLINK_PLUGINS_DIR": str(_conf_dir(job)),  # without subdirectories, so no plugins
    }


def _conf_dir(job: Job) -> Path:
    return job.work_dir / "flink"
