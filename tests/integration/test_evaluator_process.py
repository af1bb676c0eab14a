"""The evaluator process, next to Spark's JVM."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic import SyntheticRun

from streamgauge.evaluate import process
from streamgauge.jvm.java import find_java


@pytest.mark.full
def test_the_evaluators_process(tmp_path: Path) -> None:
    """It is ready before Spark, continues after a failed request, and exits at the end of its input."""
    work_dir = tmp_path / "work"
    work_dir.mkdir()
    run = SyntheticRun().write(tmp_path / "run")
    jvm_spec, spec = process.plan(find_java().path, work_dir, (), "local[2]", 512, records=40)
    for file, text in {**jvm_spec.files, **spec.files}.items():
        file.write_text(text)
    with (
        (work_dir / "log").open("w") as log,
        subprocess.Popen(spec.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as python,
    ):
        assert python.stdin is not None and python.stdout is not None
        assert json.loads(python.stdout.readline()) == {"event": "ready"}
        with subprocess.Popen(
            jvm_spec.argv, env={**os.environ, **jvm_spec.env}, stdin=subprocess.PIPE, stdout=log, stderr=log
        ):
            for path in (tmp_path / "nowhere", run.path):
                python.stdin.write(json.dumps({"do": "evaluate", "run": str(path)}) + "\n")
            python.stdin.close()
            events = [json.loads(line) for line in python.stdout]
            assert python.wait(30) == 0
    assert events[0]["event"] == "failed"
    assert events[0]["message"].startswith("not a run directory")
    assert [event["event"] for event in events[1:-1]] == ["progress"] * (len(events) - 2)
    assert events[-1] == {"event": "evaluated", "run": str(run.path)}
    assert run.summary().verdict == "VALID"


def test_a_jvm_that_died_after_its_start_is_an_environment_problem(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    secret = b"s" * 32
    (tmp_path / "connection").write_bytes(struct.pack(">ii", port, len(secret)) + secret)
    code = (
        "import sys; from pathlib import Path; from streamgauge.errors import EnvironmentProblem\n"
        "from streamgauge.jvm.spark import connect\n"
        "try: connect(Path(sys.argv[1]))\n"
        "except EnvironmentProblem as problem: print(problem.what)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "connection")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "Spark's JVM does not answer\n"
