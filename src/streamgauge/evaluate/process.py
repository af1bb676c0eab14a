"""The evaluator as processes of a run: Spark's JVM, and the Python process that speaks to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from streamgauge.jvm import spark
from streamgauge.model import ProcessSpec, Ready, Stop

JVM_ROLE = "evaluate-jvm"
ROLE = "evaluate"

CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.shuffle.compress": "true",
    "spark.io.compression.codec": "lz4",
    "spark.memory.fraction": "0.75",
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}


def plan(java: Path, work_dir: Path, jars: Sequence[Path], master: str, heap_mb: int) -> list[ProcessSpec]:
    """The two processes, to be started in this order and at once: the second waits for the first if need be.

    Pure. The JVM ends when its standard input closes, the Python process too, or on SIGTERM.
    """
    connection_file, settings = work_dir / "connection", work_dir / "evaluate.json"
    return [
        ProcessSpec(
            role=JVM_ROLE,
            group="evaluate",
            argv=spark.jvm_argv(
                java,
                master=master,
                conf=CONF,
                jars=jars,
                heap_mb=heap_mb,
                work_dir=work_dir,
                java_options=("-XX:+UseParallelGC",),
            ),
            env=spark.jvm_env(connection_file, work_dir),
            stop=Stop("stdin"),
        ),
        ProcessSpec(
            role=ROLE,
            group="evaluate",
            argv=[sys.executable, "-m", "streamgauge.evaluate", str(settings)],
            files={settings: json.dumps({"connection_file": str(connection_file)})},
            ready=Ready("event", "ready"),
            stop=Stop("stdin"),
        ),
    ]
