"""The evaluator as processes of a run: Spark's JVM, and the Python process that speaks to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from streamgauge.jvm import spark
from streamgauge.jvm.java import JIT_OPTIONS
from streamgauge.model import ProcessSpec, Ready, Stop

JVM_ROLE = "evaluate-jvm"
ROLE = "evaluate"

FEW_RECORDS = 300_000
_CODE_MB = 48
_TRIM_MS = 60_000
_STEADY_MALLOC = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "1000000",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""For glibc, which otherwise gives new threads arenas of their own, and takes larger and larger arrays from them: they
keep what was freed in them. So does Arrow's own allocator."""

CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    # The table of counts is as long as there are windows with waits of their own, and passes through in batches.
    "spark.driver.maxResultSize": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # An ordinary Python function on rows straight from Parquet hangs Spark 4.2.0 otherwise (SPARK-58241), and the
    # reference of a script may hold one.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
}


def plan(
    java: Path,
    work_dir: Path,
    jars: Sequence[Path],
    master: str,
    heap_mb: int,
    *,
    records: int | None = None,
    steady: bool = False,
    before: Sequence[str] = (),
) -> list[ProcessSpec]:
    """The two processes, to be started in this order and at once: the second waits for the first if need be.

    Pure. ``records`` is about how many there will be to evaluate, where that is known. The JVM ends when its standard
    input closes, the Python process too, or on SIGTERM. ``steady``: it lives for hours or days, and its memory must not
    grow. ``before``: a command that runs each of them, such as one that lowers its priority.
    """
    connection_file, settings = work_dir / "connection", work_dir / "evaluate.json"
    return [
        ProcessSpec(
            role=JVM_ROLE,
            group="evaluate",
            argv=[
                *before,
                *spark.jvm_argv(
                    java,
                    master=master,
                    conf=CONF,
                    jars=jars,
                    heap_mb=heap_mb,
                    work_dir=work_dir,
                    java_options=[*_java_options(records), *(_steady_options(heap_mb) if steady else [])],
                ),
            ],
            env=spark.jvm_env(connection_file, work_dir, master, measured=False) | (_STEADY_MALLOC if steady else {}),
            # Written with the first process, so that the JVM finds its directory, and none of an earlier JVM is read.
            files={settings: json.dumps({"connection_file": str(connection_file)}), connection_file: ""},
            stop=Stop("stdin"),
        ),
        ProcessSpec(
            role=ROLE,
            group="evaluate",
            argv=[*before, sys.executable, "-P", "-m", "streamgauge.evaluate", str(settings)],
            env=_STEADY_MALLOC if steady else {},
            ready=Ready("event", "ready"),
            stop=Stop("stdin"),
        ),
    ]


def _steady_options(heap_mb: int) -> list[str]:
    # Touched at once: pages of a heap that is used bit by bit become resident over many minutes. So would compiled
    # code, of which 240 MB would be allowed. Freed native memory returns to the system; older JVMs ignore that option.
    code = f"-XX:ReservedCodeCacheSize={_CODE_MB}m"
    return [f"-Xms{heap_mb}m", "-XX:+AlwaysPreTouch", code, f"-XX:TrimNativeHeapInterval={_TRIM_MS}"]


def _java_options(records: int | None) -> list[str]:
    options = ["-XX:+UseParallelGC"]
    if records is not None and records < FEW_RECORDS:
        # The optimizing compiler pays only when there is much to do; without it a first evaluation takes 40 % less.
        options += JIT_OPTIONS["quick"]
    return options
