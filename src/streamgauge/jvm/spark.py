"""PySpark on a JVM that streamgauge starts itself.

Spark's launcher hides the JVM's pid, forks a shell and requires a module that small Java runtimes lack
(``jdk.incubator.vector``). Here the JVM is an ordinary process; a Python process connects to it through the file to
which the JVM writes its port and secret. The JVM exits when its standard input closes.
"""

from __future__ import annotations

import os
import pwd
import re
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.install_hint import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
LOG_SETTINGS = Path(__file__).with_name("spark-log4j2.properties")

_POLL_S = 0.02

_OPENED_PACKAGES = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)


_HOST = r"[^\s/:@\[\]]+|\[[0-9A-Fa-f:.]+\]"
_PORT = r"[0-9]{1,5}"


def check_master(master: str) -> None:
    """Raises UsageError for an invalid Spark master."""
    if not re.fullmatch(r"local(\[[^\]]+\])?|yarn|(spark|k8s)://.+", master):
        raise UsageError(
            "invalid Spark master", got=repr(master), expected="local[N], spark://HOST:PORT, yarn or k8s://URL"
        )
    if not all(
        re.fullmatch(_HOST, host) and re.fullmatch(_PORT, port) and 0 < int(port) < 65536
        for host, port in _addresses(master)
    ):
        raise UsageError(
            "invalid Spark master",
            got=repr(master),
            expected="spark://HOST:PORT, such as spark://host.example:7077, with a port from 1 to 65535",
        )


def _addresses(master: str) -> list[tuple[str, str]]:
    """Host and port of each address of a ``spark://`` master: there are several where one can take over."""
    scheme, _, addresses = master.partition("://")
    split = (one.rpartition(":") for one in addresses.split(",")) if scheme == "spark" else ()
    return [(host, port) for host, _, port in split]


def is_local(master: str) -> bool:
    """Whether the driver's own JVM does all the work."""
    return master.startswith("local")


def on_this_machine(master: str) -> bool:
    """Whether all connections to the driver use the loopback interface."""
    hosts = {host for host, _ in _addresses(master)}
    return is_local(master) or (bool(hosts) and hosts <= {LOOPBACK, "localhost"})


def spark_home() -> Path:
    """The directory of the installed pyspark package, found without importing it."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentProblem("pyspark is not installed", hint=install_command(["pyspark"]))
    return Path(spec.origin).parent


def jvm_argv(
    java: Path,
    *,
    master: str,
    conf: Mapping[str, str],
    jars: Sequence[Path] = (),
    heap_mb: int,
    work_dir: Path,
    java_options: Sequence[str] = (),
) -> list[str]:
    """The command line of a Spark driver JVM that waits for a Python process to connect.

    With a local master it listens on the loopback address only. It writes files below ``work_dir`` (which must exist),
    and warnings and errors to standard error. ``conf`` and ``java_options`` override the defaults chosen here. Its
    standard input must be a pipe: the JVM exits when that closes.
    """
    check_user_has_name()
    loopback = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    settings = {
        # Remote executors connect to the driver: Spark determines an address they can reach.
        **(loopback if on_this_machine(master) else {}),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
        **conf,
    }
    # On the class path the jars are neither copied nor served; only remote executors need that.
    local = is_local(master)
    class_path = [str(spark_home() / "jars" / "*"), *(str(jar) for jar in jars if local)]
    # Where YARN and the file systems of a cluster are, as Spark's own scripts have it.
    if not local:
        class_path += filter(None, (os.environ.get("HADOOP_CONF_DIR"), os.environ.get("YARN_CONF_DIR")))
    argv = [str(java), f"-Xmx{heap_mb}m"]
    if not any(option.startswith("-XX:+Use") and option.endswith("GC") for option in java_options):
        argv.append("-XX:+UseSerialGC")
    argv += [
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
        f"-Djava.io.tmpdir={work_dir}",
        f"-Dderby.system.home={work_dir}",
        f"-Dlog4j2.configurationFile={LOG_SETTINGS}",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        # Without memory, Spark loses threads such as the one that takes the results of tasks, and waits for ever.
        "-XX:+ExitOnOutOfMemoryError",
        *java_options,
        "-cp",
        os.pathsep.join(class_path),
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        master,
    ]
    if jars and not local:
        argv += ["--jars", ",".join(str(jar) for jar in jars)]
    for name, value in settings.items():
        argv += ["--conf", f"{name}={value}"]
    return [*argv, "pyspark-shell"]


def jvm_env(connection_file: Path, work_dir: Path, master: str, *, measured: bool = True) -> dict[str, str]:
    """The environment of the JVM of ``jvm_argv``.

    The user's own Spark settings (``spark-defaults.conf`` in ``SPARK_CONF_DIR``) are kept out of what is measured. For
    other work on a cluster they hold what that cluster asks for, such as an image or a queue.
    """
    kept_out = measured or is_local(master)
    return {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(work_dir) if kept_out else os.environ.get("SPARK_CONF_DIR", str(work_dir)),
        **({"SPARK_LOCAL_IP": LOOPBACK} if on_this_machine(master) else {}),
        "SPARK_LOCAL_DIRS": str(work_dir),
        "PYSPARK_PYTHON": sys.executable,
    }


def check_user_has_name() -> None:
    """Raises EnvironmentProblem for a user without a name, for whom Spark fails with a stack trace of Ivy or Hadoop."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise EnvironmentProblem(
            "Spark needs a user with a name",
            got=f"user {os.getuid()} has no entry in the password database",
            hint="run as another user, or add an entry to /etc/passwd",
        ) from None


def literal_path(path: Path) -> str:
    """A path for Spark to read, with ``[``, ``{``, ``*`` and ``?`` escaped, which would be glob patterns."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", file_url(path))


def file_url(path: Path) -> str:
    """A path of a file system that is mounted: on a cluster, one without a scheme would be of the cluster's own."""
    return f"file://{path.absolute()}"


def connect(connection_file: Path, timeout_s: float = 120) -> SparkSession:
    """The session of the JVM that writes ``connection_file``; waits up to ``timeout_s`` for it.

    Sets the environment variables by which pyspark finds the JVM. Raises EnvironmentProblem if the JVM does not start
    in time or does not answer.
    """
    port, secret = _wait_for_connection(connection_file, timeout_s)
    os.environ |= {
        "PYSPARK_GATEWAY_PORT": str(port),
        "PYSPARK_GATEWAY_SECRET": secret,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
    }
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    try:
        # Spark's own scripts give the Python of the executors to the driver.
        SparkContext._ensure_initialized()
        os.environ["PYSPARK_PYTHON"] = SparkConf().get("spark.pyspark.python", sys.executable)
        return SparkSession.builder.getOrCreate()
    except (Py4JError, OSError) as problem:
        raise EnvironmentProblem(
            "Spark's JVM does not answer",
            where=f"{LOOPBACK}:{port}",
            got=str(problem).splitlines()[0] if str(problem) else type(problem).__name__,
            hint="see the log of that process in the run directory",
        ) from problem


def _wait_for_connection(file: Path, timeout_s: float) -> tuple[int, str]:
    deadline = time.monotonic() + timeout_s
    while True:
        content = file.read_bytes() if file.exists() else b""
        if len(content) > 8:
            port, length = struct.unpack(">ii", content[:8])
            secret = content[8 : 8 + length]
            if len(secret) == length:
                return port, secret.decode()
        if time.monotonic() > deadline:
            raise EnvironmentProblem(
                f"Spark's JVM did not start within {timeout_s:g} s",
                where=file,
                got="an incomplete file" if content else "no such file",
                expected="the port and secret of the JVM",
                hint="see the log of that process in the run directory",
            )
        time.sleep(_POLL_S)
