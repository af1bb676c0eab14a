"""The environment of children: variables that would change a measurement are removed and reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from children import python
from written_runs import write_run

from streamgauge import environment
from streamgauge.evaluate import evaluate_without_spark
from streamgauge.jvm.java import find_java

CHANGING = {
    "_JAVA_OPTIONS": "-Dpicked.up=1",
    "JAVA_TOOL_OPTIONS": "-Dpicked.up=1",
    "JDK_JAVA_OPTIONS": "-Dpicked.up=1",
    "SPARK_CONF_DIR": "/nonsense",
    "SPARK_LOCAL_IP": "192.0.2.1",
    "PYSPARK_PYTHON": "python2",
    "PYSPARK_SUBMIT_ARGS": "--nonsense",
    "LOG4J_CONFIGURATION_FILE": "/nonsense",
    "PYTHONINSPECT": "1",
    "PYTHONDEVMODE": "1",
}
KEPT = {"PATH": "/bin", "JAVA_HOME": "/java", "PYTHONPATH": "src", "HOME": "/home/me", "SPARKLE": "1", "MY_TOKEN": "x"}


def test_only_variables_that_change_a_measurement_are_removed() -> None:
    assert environment.removed({**CHANGING, **KEPT}) == sorted(CHANGING)
    passed_on = environment.chosen({**CHANGING, **KEPT})
    assert {name: value for name, value in passed_on.items() if name != "LC_ALL"} == KEPT


@pytest.mark.parametrize("keeps", [False, True])
def test_a_child_gets_the_cleaned_environment_unless_it_keeps_its_own(supervisor, monkeypatch, keeps) -> None:
    for name, value in CHANGING.items():
        if not name.startswith("PYTHON"):  # would change the child itself
            monkeypatch.setenv(name, value)
    code = "say('ready', env=dict(os.environ)); time.sleep(600)"
    supervisor.start(python(code, env={"SPARK_HOME": "ours"}, keeps_environment=keeps))
    variables = supervisor.wait_event("engine", "ready", 60)["env"]
    assert variables["SPARK_HOME"] == "ours", "what the plan sets is kept"
    expected = {name for name in CHANGING if not name.startswith("PYTHON")} if keeps else set()
    assert set(CHANGING) & set(variables) == expected


def test_the_guardian_gets_it_too(logs, tmp_path, monkeypatch) -> None:
    from streamgauge.processes.supervisor import Supervisor

    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dpicked.up=1")
    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        environ = Path(f"/proc/{supervisor._guardian.pid}/environ")
        if not environ.exists():
            pytest.skip("needs /proc")
        assert b"JAVA_TOOL_OPTIONS" not in environ.read_bytes()


def test_java_is_probed_without_the_options(monkeypatch) -> None:
    java = find_java()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+NoSuchOptionAtAll")
    find_java.cache_clear()
    assert find_java() == java


def test_one_warning_names_the_removed_variables_without_their_values(tmp_path) -> None:
    run = write_run(tmp_path / "run", 100.0, changes={"environment": {"removed": ["SPARK_HOME", "_JAVA_OPTIONS"]}})
    summary = evaluate_without_spark(run)
    (warning,) = [text for text in summary.warnings if "environment" in text]
    assert "SPARK_HOME, _JAVA_OPTIONS" in warning and "your own program" not in warning
    assert "environment" not in json.dumps(evaluate_without_spark(write_run(tmp_path / "clean", 100.0)).warnings)


def test_the_live_view_reports_them_at_the_start(monkeypatch, capsys) -> None:
    from streamgauge.cli.live import LiveView

    monkeypatch.setenv("_JAVA_OPTIONS", "-Dsecret=1")
    with LiveView():
        pass
    output = capsys.readouterr().err
    assert "_JAVA_OPTIONS" in output and "-Dsecret" not in output
