"""Runs in unusual environments: odd paths, variables for every JVM, secrets, a user without a name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from driving import STREAMGAUGE, streamgauge

from streamgauge import dirs
from streamgauge.redaction import REDACTED

ODD = "[a] {b} ü *"
SECRET = "hunter2"
SHORT = ("--rate", "200/s", "--for", "4s", "--warmup", "1s", "--set", "sustained=none")

# A program that records its environment and arguments, then runs normally.
PROGRAM = """
import json, os, runpy, sys
from pathlib import Path
Path(sys.argv[1]).write_text(json.dumps({"env": dict(os.environ), "argv": sys.argv}))
sys.argv = [sys.argv[2], sys.argv[-1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def files_with(text: str, root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.full
def test_odd_paths_options_for_every_jvm_and_secrets(tmp_path: Path) -> None:
    """Broker and evaluator would not start with these JVM options, nor Spark with this configuration."""
    out, temp, noted = tmp_path / f"run {ODD}", tmp_path / f"temp {ODD}", tmp_path / "noted.json"
    temp.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    example = Path(__file__).parents[2] / "examples" / "own_command.py"
    env = {
        "TMPDIR": str(temp),
        "LC_ALL": "C",
        "_JAVA_OPTIONS": "-XX:+NoSuchOptionAtAll",
        "JAVA_TOOL_OPTIONS": "-XX:+NoSuchOptionAtAll",
        "SPARK_CONF_DIR": str(tmp_path / "nonsense"),
        "SPARK_LOCAL_IP": "192.0.2.1",
        "PYSPARK_PYTHON": "/nonsense",
    }
    words = [sys.executable, str(program), str(noted), str(example), "--password", SECRET, f"kafka://me:{SECRET}@host"]
    done = streamgauge(
        "run", "ospbench/latency", "--engine", "command", *SHORT, "--out", str(out), "--", *words, env=env
    )
    assert done.returncode in (0, 3), done.stderr + done.stdout
    summary, manifest = (json.loads((out / name).read_text()) for name in ("summary.json", "manifest.json"))
    assert summary["results"]["matched"] > 0
    removed = sorted(set(env) - {"TMPDIR", "LC_ALL"})
    assert manifest["environment"]["removed"] == removed
    assert [text for text in summary["warnings"] if ", ".join(removed) in text and "your own program" in text]
    assert ", ".join(removed) in done.stderr
    seen = json.loads(noted.read_text())
    assert seen["env"]["_JAVA_OPTIONS"] == env["_JAVA_OPTIONS"], "the user's program keeps its environment"
    assert SECRET in seen["argv"], "the program gets the secret"
    assert files_with(SECRET, out) == []
    assert sorted(files_with(REDACTED, out)) == [str(out / name) for name in ("manifest.json", "report.html")]
    assert list(temp.iterdir()) == [], "nothing is left behind"
    again = streamgauge("evaluate", str(out), "--json", env=env)
    assert again.returncode == done.returncode, again.stderr
    assert json.loads(again.stdout)["results"] == summary["results"]


def nameless(*words: str, env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run it as a user without an entry in the password database who still owns the files."""
    unshare = shutil.which("unshare")
    prefix = [unshare or "", "--user", "--map-user=54321", "--map-group=54321"]
    if unshare is None or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs user namespaces")
    kept = {name: value for name, value in os.environ.items() if name != "HOME"}
    return subprocess.run(
        [*prefix, *words], env={**kept, **env}, cwd=cwd, capture_output=True, text=True, timeout=280, check=False
    )


def test_without_home_and_name_the_variables_are_named(tmp_path: Path) -> None:
    done = nameless(STREAMGAUGE, "clean", env={}, cwd=tmp_path)
    assert done.returncode == 5
    assert "there is no home directory" in done.stderr and "STREAMGAUGE_STATE" in done.stderr


def test_a_run_of_a_user_without_home_and_name_is_refused_before_anything_starts(tmp_path: Path) -> None:
    env: dict[str, Any] = {"STREAMGAUGE_CACHE": str(dirs.cache_dir()), "STREAMGAUGE_STATE": str(tmp_path / "state")}
    out = tmp_path / "run"
    words = ("run", "ospbench/latency", "--engine", "echo", *SHORT, "--out", str(out))
    done = nameless(STREAMGAUGE, *words, env=env, cwd=tmp_path)
    assert done.returncode == 5, done.stderr + done.stdout
    assert "Spark needs a user with a name" in done.stderr and "54321" in done.stderr
    assert not out.exists()
