"""A user's PySpark script, unchanged: redirected by a shim, watched through its checkpoints."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.engines.job_file import job_file
from streamgauge.engines.pyspark import environments
from streamgauge.engines.settings import gather_conf
from streamgauge.errors import UsageError, one_of
from streamgauge.jvm.java import find_java
from streamgauge.jvm.kafka_clients import BOOTSTRAP, java_settings_for
from streamgauge.jvm.spark import is_local
from streamgauge.model import Job, ProcessSpec, Ready, Stop, Traits
from streamgauge.redaction import redact_arguments

SHIM = Path(__file__).parent / "shim"
COMMITS = "commits"
"""The output of a run that is measured by commits."""
HOSTS = "hosts"
"""The file with the host names that the script's JVM can resolve."""
KAFKA_ADDRESS = "kafka://"
_FILES = "files that the script opens itself"
_NOT_FENCED = (
    "connections to this machine, to numeric addresses from the JVM, from C libraries inside Python and from programs "
    "that the script starts"
)


class PySparkOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    python: str = Field("", description="interpreter of the script's environment; empty = streamgauge's own")
    submit: str = Field("", description="command that runs the script, such as spark-submit …; empty = the interpreter")
    map: list[str] = Field(
        default_factory=list,
        description="STREAM=TOPIC where the script's topic has another name than the stream; kafka://HOST:PORT for an "
        "address that it only writes to",
    )
    allow_sink: list[str] = Field(
        default_factory=list, description="what the script may write to: the beginning of a URL, path or table name"
    )
    allow_hosts: list[str] = Field(default_factory=list, description="other machines that the script may connect to")
    isolate: bool = Field(
        True,
        description="run the script in a network of its own, in which it reaches only the broker of the run; Linux, "
        "where that is permitted, and not with allow_hosts, allow_sink, submit, another master or your own broker",
    )
    master: str = Field("local[*]", description="Spark master, also if the script names another; empty = the script's")
    ready_timeout_s: Annotated[float, Field(gt=0)] = Field(
        120.0, description="time limit for the first query, s", json_schema_extra={"harder": None}
    )
    stop_timeout_s: Annotated[float, Field(gt=0)] = Field(
        20.0, description="time limit for shutdown, s", json_schema_extra={"harder": None}
    )
    conf: dict[str, str] = Field(default_factory=dict, description="any spark.* setting, which replaces the script's")

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, lambda key: key.startswith("spark."))

    @model_validator(mode="after")
    def _check_map(self) -> PySparkOptions:
        for one in self.map:
            stream, equals, topic = one.partition("=")
            if not (one.startswith(KAFKA_ADDRESS) and len(one) > len(KAFKA_ADDRESS)) and not (
                stream and equals and topic
            ):
                raise ValueError(f"map: {one!r}: expected STREAM=TOPIC or kafka://HOST:PORT")
        return self


class PySpark(Engine):
    name: ClassVar[str] = "pyspark"
    title: ClassVar[str] = "Your own PySpark script, unchanged"
    traits: ClassVar[Traits] = Traits(
        workloads=frozenset({"yours/committed", "yours/output"}),
        delivery="at-least-once",
        needs_program=True,
        commit_clock=True,
        memory_mb=2500,
        only_recipients="streamgauge does not know the nodes of your script",
    )
    options: ClassVar[type[BaseModel]] = PySparkOptions

    def versions(self) -> Mapping[str, str]:
        return {"pyspark": "your own"}

    def versions_with(self, options: Mapping[str, Any]) -> Mapping[str, str]:
        return {"pyspark": environments.pyspark_version(environments.interpreter(options["python"]))}

    def jar_groups(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        version = environments.pyspark_version(environments.interpreter(options["python"]))
        group = environments.jar_group(version)
        return (group,) if group else ()

    def files(self, program: Sequence[str]) -> Sequence[Path]:
        return tuple(_script(one) for one in program[:1])

    def micro_batches(self, options: Mapping[str, Any]) -> bool:
        return True

    def notes(self, job: Job) -> Mapping[str, str]:
        options = job.options
        topics = ", ".join(f"{topic} to {address}" for topic, address in _topics(job).items())
        not_fenced = f"{_FILES}; {_NOT_FENCED}"
        if options["submit"]:
            not_fenced = "all but Spark's own readers and writers"
        elif _isolates(job):
            not_fenced = f"{_FILES}; where the system permits no network of its own, also {_NOT_FENCED}"
        return {
            "script": shlex.join(redact_arguments(job.program)),
            "redirected": f"topics {topics}; every Kafka address to {job.endpoints['bootstrap']}; checkpoints and "
            "local output paths to a directory of the run",
            "refused": "other sinks"
            + (f", but for {', '.join(options['allow_sink'])}" if options["allow_sink"] else ""),
            "not fenced": not_fenced,
        }

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        if not job.program:
            raise UsageError(
                "engine pyspark needs a script",
                hint="streamgauge run my_job.py --data STREAM=FILE",
            )
        script, *arguments = job.program
        path = _script(script)
        if not path.is_file():
            raise UsageError("the script was not found", where=path)
        options, home = job.options, job.work_dir / "script"
        python = environments.interpreter(options["python"])
        command = shlex.split(options["submit"]) or [python]
        return (
            ProcessSpec(
                role="driver",
                group="engine",
                argv=[
                    *(sys.executable, "-P", "-m", "streamgauge.engines.pyspark.launcher", str(home), "--"),
                    *(*command, str(path), *arguments),
                ],
                files={
                    **_files(job, home, path, python),
                    home / "checkpoints" / ".keep": "",
                    home / "output" / ".keep": "",
                    home / "tmp" / ".keep": "",
                },
                # At first, the watcher knows when all queries read.
                ready_again=Ready("event", "usable", timeout_s=float(options["ready_timeout_s"])),
                stop=Stop("terminate", grace_s=float(options["stop_timeout_s"])),
                keeps_environment=True,
                node=True,
            ),
            ProcessSpec(
                role="watcher",
                group="engine",
                argv=[
                    *(sys.executable, "-P", "-m", "streamgauge.engines.pyspark.watcher"),
                    *(str(job.file), str(home)),
                ],
                files=job_file(job),
                ready=Ready("event", "ready", timeout_s=float(options["ready_timeout_s"])),
                stop=Stop("terminate", grace_s=10),
                watches=True,
            ),
        )


def _script(typed: str) -> Path:
    return Path(typed).expanduser().absolute()


def _isolates(job: Job) -> bool:
    """Whether the script may need nothing but the broker of the run."""
    options = job.options
    needs_more = options["allow_hosts"] or options["allow_sink"] or options["submit"] or not job.own_transport
    return options["isolate"] and not needs_more and is_local(options["master"])


def _topics(job: Job) -> dict[str, str]:
    """The topics that the script reads, by its own names. Raises UsageError."""
    named = dict(one.split("=", 1) for one in job.options["map"] if not one.startswith(KAFKA_ADDRESS))
    if unknown := [stream for stream in named if stream not in job.inputs]:
        raise UsageError(
            f"--map names the stream {unknown[0]}, which --data does not",
            expected=one_of(job.inputs),
        )
    return {named.get(stream, stream): address for stream, address in job.inputs.items()}


def _files(job: Job, home: Path, script: Path, python: str) -> dict[Path, str]:
    options = job.options
    group = environments.jar_group(environments.pyspark_version(python))
    connector = [str(path) for path in jars.locations(group)] if group else []
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "local"),
    }
    own, packages = _users_defaults()
    config = {
        "script": str(script),
        "arguments": len(job.program) > 1,
        "bootstrap": job.endpoints["bootstrap"],
        "own_broker": job.own_transport,
        "isolate": _isolates(job),
        "endpoints": dict(job.endpoints),
        "kafka": {key: value for key, value in java_settings_for(job.endpoints).items() if key != BOOTSTRAP},
        "brokers": [one.removeprefix(KAFKA_ADDRESS) for one in options["map"] if one.startswith(KAFKA_ADDRESS)],
        "topics": _topics(job),
        # Its own name for the output of the run.
        "sinks": {stream: address for stream, address in job.outputs.items() if stream != COMMITS},
        "sink_prefix": f"{job.group}-",
        "allow": options["allow_sink"],
        "hosts": options["allow_hosts"],
        "checkpoints": str(home / "checkpoints"),
        "output": str(home / "output"),
        "master": options["master"],
        "submit": bool(options["submit"]),
        "jars": connector,
        "python": python,
        "environment": _environment(job, home, python),
        "packages": packages,
        "conf": {} if options["submit"] else {**settings, **options["conf"]},
    }
    defaults = {**settings, **options["conf"], **({"spark.jars": ",".join(connector)} if connector else {})}
    return {
        home / "shim.json": json.dumps(config, indent=1) + "\n",
        home / "conf" / "spark-defaults.conf": own + "".join(f"{key} {value}\n" for key, value in defaults.items()),
    }


def _users_defaults() -> tuple[str, str]:
    """What the user's environment sets for every Spark, and which packages, which are resolved outside the fence.

    Of a key that is there twice the last one counts.
    """
    directory = os.environ.get("SPARK_CONF_DIR")
    try:
        text = (Path(directory) / "spark-defaults.conf").read_text(encoding="utf-8") if directory else ""
    except OSError:
        text = ""
    line = re.compile(r"^[ \t]*spark\.jars\.packages[ \t=:]+(.*)\n?", re.MULTILINE)
    packages = [found.strip() for found in line.findall(text)]
    return line.sub("", text) + "\n" * bool(text), packages[-1] if packages else ""


def _environment(job: Job, home: Path, python: str) -> dict[str, str]:
    """Of the script, beyond that of its launcher."""
    paths = [str(SHIM), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        "STREAMGAUGE_SHIM": str(home),
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_CONF_DIR": str(home / "conf"),
        "JAVA_HOME": os.environ.get("JAVA_HOME") or str(find_java().path.resolve().parent.parent),
    }
    if not job.options["submit"]:
        # What a killed JVM leaves in its directory for temporary files goes with the run.
        ours = [f"-Djdk.net.hosts.file={home / HOSTS}", f"-Djava.io.tmpdir={home / 'tmp'}"]
        environment["JAVA_TOOL_OPTIONS"] = " ".join(filter(None, [os.environ.get("JAVA_TOOL_OPTIONS"), *ours]))
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        environment.setdefault("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON", python))
    return environment
