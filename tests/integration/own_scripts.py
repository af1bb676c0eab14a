"""Scripts for the tests, and run directories that contain one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from synthetic import SyntheticRun

from run_files import content
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.workloads.own.script import inspect

BUILD = """\
from pyspark.sql import functions as f


def build(spark, source):
    return source.select("value")
"""

ONE_TO_ONE = """

key = ["n_seq"]


def reference(inputs):
    both = inputs["flow"].unionByName(inputs["speed"])
    return both.select("n_seq", f.get_json_object("value", "$.id").alias("id"))
"""

PAIRS = """
from streamgauge.script import behind_each

key = ["id"]


def reference(inputs):
    flow, speed = (
        inputs[name].withColumn("id", f.get_json_object("value", "$.id")).alias(name) for name in ("flow", "speed")
    )
    return flow.join(speed, "id").select("id", f.lit(2).alias("n"), *behind_each("flow", "speed"))
"""

PER_LANE = """
from streamgauge.script import behind

key = ["lane"]


def reference(inputs):
    flow = inputs["flow"].where("n_seq < 10").withColumn("lane", f.get_json_object("value", "$.lane"))
    return flow.groupBy("lane").agg(f.avg("n_seq").alias("mean"), *behind())
"""


def with_script(made: SyntheticRun, path: Path, script: str) -> RunDir:
    """The run as a run of this script, which is stored next to the run directory."""
    file = path.parent / "my.py"
    file.write_text(script)
    run = made.write(path)
    manifest: dict[str, Any] = content(run.manifest_path)
    manifest["scenario"]["script"] = asdict(inspect(file))
    write_json(run.manifest_path, manifest)
    run.script_path.write_text(script)
    return run


def result(**fields: Any) -> str:
    return json.dumps(fields)
