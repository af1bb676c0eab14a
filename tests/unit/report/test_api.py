"""Results as Python sees them, and the arguments of ``run``; without measuring anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic_run

import streamgauge
from run_files import change
from streamgauge import api
from streamgauge.errors import UsageError
from streamgauge.rundir import RunDir


def result(path: Path, **changes: Any) -> api.RunResult:
    run = synthetic_run.write_valid(path)
    change(run.summary_path, **changes)
    return api.RunResult(path, run.summary(), [path])


def test_a_result_has_verdict_latency_and_tables(tmp_path: Path) -> None:
    found = result(tmp_path / "run", sustained=True)
    assert (found.valid, found.verdict, found.passed) == (True, "VALID", True)
    total = found.summary.latency("total")
    assert (found.latency.p50_ms, found.latency.p99_ms) == (total["p50"], total["p99"])
    assert found.latencies["latest"].count == found.summary.latency("latest")["count"]
    assert found.report == tmp_path / "run" / "report.html"
    seconds = found.frame("seconds")
    assert list(seconds["second"][:3]) == [0, 1, 2]
    assert set(found.frame("latency")["kind"]) >= {"total", "latest"}
    assert {"role", "cpu_s"} <= set(found.frame("resources").columns)
    with pytest.raises(UsageError, match="unknown table: nonsense"):
        found.frame("nonsense")


def test_a_bad_result_is_not_passed(tmp_path: Path) -> None:
    found = result(tmp_path / "run", verdict="FAILED", reasons=["3 results were lost"])
    assert (found.valid, found.passed, list(found.reasons)) == (False, False, ["3 results were lost"])


def test_a_notebook_shows_verdict_checks_and_report(tmp_path: Path) -> None:
    page = result(tmp_path / "run", verdict="FAILED", reasons=["<b>lost</b>"])._repr_html_()
    assert "FAILED · " in page and "&lt;b&gt;lost&lt;/b&gt;" in page and 'report.html">report' in page


def test_directories_and_results_are_compared(tmp_path: Path) -> None:
    first, second = result(tmp_path / "a", state="steady"), result(tmp_path / "b", state="steady")
    found = streamgauge.compare(first, tmp_path / "b")
    assert (found.word, found.ratio) == ("cannot tell", 1.0)
    assert "1.000 × the baseline" in found._repr_html_()
    assert streamgauge.compare(str(tmp_path / "a"), second).ratio == 1.0


def test_options_mean_what_they_mean_on_the_command_line(tmp_path: Path) -> None:
    request = api._request(
        "checks/queue",
        {
            "engine": "echo",
            "rate": 2500,
            "duration": 7.5,
            "warmup": "3s",
            "settings": {"delay_ms": 12.5, "rising_warmup": True, "generators": 2},
            "slo": ["latency.p99 < 2s"],
            "seed": 4,
            "out": str(tmp_path / "x"),
        },
    )
    load = request.scenario.load
    assert (load.rate_per_s, load.measured_s, load.warmup_s, load.rising_warmup) == (2500, 7.5, 3.0, True)
    assert (request.scenario.engine_options["delay_ms"], request.scenario.generators) == (12.5, 2)
    assert (request.scenario.seed, request.out, request.scenario.slo) == (4, tmp_path / "x", ("latency.p99 < 2s",))


def test_mistakes_are_told_before_anything_runs() -> None:
    with pytest.raises(TypeError, match="unexpected option speed; expected engine, rate"):
        streamgauge.run("checks/queue", speed=5)
    with pytest.raises(streamgauge.StreamgaugeError, match="unknown scenario"):
        streamgauge.run("checks/nothing")
    with pytest.raises(AttributeError):
        _ = streamgauge.nothing


class Fake:
    """Stands in for a measurement."""

    def __init__(self, found: api.RunResult) -> None:
        self.found = found
        self.given: dict[str, Any] = {}

    def __call__(self, scenario: str, **options: Any) -> api.RunResult:
        self.given = {"scenario": scenario, **options}
        return self.found


def test_the_fixture_measures_in_the_tests_directory(
    streamgauge_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    fake = Fake(result(tmp_path / "made", sustained=True))
    monkeypatch.setattr(api, "run", fake)
    assert streamgauge_run("checks/queue", rate=5) is fake.found
    assert fake.given == {"scenario": "checks/queue", "rate": 5, "out": tmp_path / "run-1"}
    assert ("streamgauge_report", str(fake.found.report)) in request.node.user_properties


def test_the_fixture_fails_with_the_reason(
    streamgauge_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "run", Fake(result(tmp_path / "made", verdict="FAILED", reasons=["3 results were lost"])))
    with pytest.raises(pytest.fail.Exception, match="the answers are right: 3 results were lost"):
        streamgauge_run("checks/queue")
    assert streamgauge_run("checks/queue", check=False).verdict == "FAILED"


def test_the_median_of_several_runs_has_the_tables(tmp_path: Path) -> None:
    paths = []
    for name in ("1", "2"):
        run = synthetic_run.write_valid(tmp_path / name)
        change(run.summary_path, run=f"run-{name}")
        paths.append(run.path)
    whole = api.RunResult(tmp_path, RunDir(paths[1]).summary(), paths)
    assert len(whole.frame("seconds")) == len(api.RunResult(paths[1], whole.summary, paths[1:]).frame("seconds"))
