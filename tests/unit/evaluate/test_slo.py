"""Objectives: what can be written, what is refused and how, and how a summary is judged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from run_files import change
from streamgauge import report
from streamgauge.cli.result import print_result
from streamgauge.errors import UsageError
from streamgauge.evaluate import slo
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"

SUMMARY: dict[str, Any] = {
    "results": {"expected": 2000, "matched": 1996, "wrong": 0, "lost": 4, "unfinished": 0, "duplicates": 0},
    "latency_ms": {
        "total": {"p50": 100.0, "p99": 2000.0, "p999": None, "max": 2500.5, "mean": 120.25},
        "latest": {"p99": 1900.0},
        "average": {"p50": 99.0},
    },
    "rate_per_s": {"offered": 400.0, "achieved": 399.0, "worst_second": 380, "output": 400.0},
    "generator": {"late_p50_ms": 0.1, "late_p99_ms": 2.5, "late_max_ms": 18.0, "errors": 0},
    "backlog": {"end": 12, "slope_per_s": 2.0, "slope_ci": [1.0, 3.0]},
    "resources": {"engine": {"cpu_mean": 0.9, "rss_max_mb": 1240.0, "heap_max_mb": None}},
}


def judged(text: str, summary: dict[str, Any] = SUMMARY) -> dict[str, Any]:
    return slo.judge(slo.parse(text), summary).as_json()


@pytest.mark.parametrize(
    ("text", "value", "limit", "unit", "passed"),
    [
        ("latency.p99 < 2s", 2, 2, "s", False),
        ("latency.p99 <= 2s", 2, 2, "s", True),
        ("latency.p99<=2000ms", 2000, 2000, "ms", True),
        ("  latency.p99 < 0.1 m ", 0.033333, 0.1, "m", True),
        ("latency.total.p99 >= 2s", 2, 2, "s", True),
        ("latency.latest.p99 < 2s", 1.9, 2, "s", True),
        ("latency.average.p50 > 99ms", 99, 99, "ms", False),
        ("latency.max < 2500ms", 2500.5, 2500, "ms", False),
        ("latency.mean == 120.25ms", 120.25, 120.25, "ms", True),
        ("backlog.slope < 1%", 0.5, 1, "%", True),
        ("backlog.slope < 0.5%", 0.5, 0.5, "%", False),
        ("backlog.slope < 2/s", 2, 2, "/s", False),
        ("backlog.slope > -1", 2, -1, "", True),
        ("backlog.end < 100", 12, 100, "", True),
        ("results.lost == 0", 4, 0, "", False),
        ("results.lost != 0", 4, 0, "", True),
        ("results.lost < 0.3 %", 0.2, 0.3, "%", True),
        ("rate.worst_second >= 95%", 95, 95, "%", True),
        ("rate.achieved >= 400/s", 399, 400, "/s", False),
        ("generator.late_p99 < 20ms", 2.5, 20, "ms", True),
        ("generator.errors == 0", 0, 0, "", True),
        ("resources.engine.cpu_mean < 1.5", 0.9, 1.5, "", True),
        ("resources.engine.rss_max < 1000MB", 1240, 1000, "MB", False),
    ],
)
def test_judged_in_the_unit_it_was_written_in(text: str, value: float, limit: float, unit: str, passed: bool) -> None:
    expected = {"slo": text.strip(), "value": value, "limit": limit, "unit": unit, "passed": passed}
    assert judged(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "latency.p999 > 10ms",  # too few samples
        "latency.p90 > 0ms",  # not in this summary at all
        "resources.engine.heap_max < 100MB",
        "resources.broker.cpu_mean < 1",
    ],
)
def test_what_the_run_does_not_have_is_missed(text: str) -> None:
    judgement = judged(text)
    assert (judgement["value"], judgement["passed"]) == (None, False)


@pytest.mark.parametrize(("limit", "passed"), [("2501ms", True), ("2500ms", False)])
def test_the_maximum_bounds_a_percentile_of_too_few_samples(limit: str, passed: bool) -> None:
    judgement = judged(f"latency.p999 < {limit}")
    assert (judgement["value"], judgement["at_most"], judgement["passed"]) == (None, 2500.5, passed)


def test_zeros_of_a_run_of_which_nothing_was_checked_hold_nothing() -> None:
    nothing = SUMMARY | {"results": dict.fromkeys(SUMMARY["results"], 0), "backlog": {"end": 0, "slope_per_s": None}}
    for text in ("results.lost == 0", "results.lost < 1%", "backlog.end < 10", "backlog.slope < 1%"):
        assert (judged(text, nothing)["value"], judged(text, nothing)["passed"]) == (None, False), text


@pytest.mark.parametrize("name", slo.METRICS)
def test_every_metric_can_be_written_as_its_example_says(name: str) -> None:
    parsed = slo.parse(f"{name} < {slo.METRICS[name].example}")
    assert parsed.metric == name


@pytest.mark.parametrize(
    ("text", "what", "words"),
    [
        ("", "expected METRIC OPERATOR LIMIT", "latency.p99 < 2s"),
        ("latency.p99", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("latency.p99 < fast", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("latency.p99 < 2s or 1 < 2", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("__import__('os').getpid() < 2", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("latency.p99 < 1e999s", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("latency.p99 < ٣s", "expected METRIC OPERATOR LIMIT", "METRIC OPERATOR LIMIT"),
        ("latency.p98 < 2s", "unknown metric", "did you mean latency.p9"),
        ("result.lost == 0", "unknown metric", "did you mean results.lost"),
        ("latency.p99 = 2s", "invalid --slo", "one of < <= > >= == !="),
        ("latency.p99 =< 2s", "invalid --slo", "one of < <= > >= == !="),
        ("latency.p99 < 2", "that has no unit", "ms, s, m; such as latency.p99 < 2s"),
        ("latency.p99 < 2%", "in %", "such as latency.p99 < 2s"),
        ("backlog.slope < 1MB", "in MB", "/s, no unit, %; such as backlog.slope < 1%"),
        ("results.lost == 0s", "in s", "such as results.lost == 0"),
        ("resources.engine.rss_max < 2", "that has no unit", "such as resources.engine.rss_max < 2000MB"),
    ],
)
def test_mistakes_are_told_with_what_to_write(text: str, what: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        slo.parse(text)
    assert what in raised.value.what
    assert words in raised.value.message()
    assert raised.value.exit_code == 2


@pytest.fixture
def judged_run(tmp_path: Path) -> RunDir:
    """A run with one objective held, one missed by a hair and one without a value."""
    shutil.copytree(GOLDEN, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    slow = SUMMARY | {"latency_ms": {"total": {"p99": 2004.0}}}
    texts = ("results.wrong == 0", "latency.p99 < 2s", "latency.p999 < 3s")
    change(run.summary_path, slo=[judged(text, slow) for text in texts])
    return run


def test_a_figure_that_missing_results_leave_unknown_is_missed_with_its_bound() -> None:
    censored = SUMMARY | {"latency_ms": {"total": {"p99": None, "p99_at_least": 60_000.0}}}
    judgement = judged("latency.p99 < 2s", censored)
    assert (judgement["value"], judgement["at_least"], judgement["passed"]) == (None, 60, False)
    assert not judged("latency.p99 > 2s", censored)["passed"], "a bound is no value"


def test_the_backlog_s_slope_in_per_cent_is_that_of_the_rule() -> None:
    """Under a ramp the backlog rises with the load, and the wait does not."""
    ramp = SUMMARY | {"backlog": {"end": 9, "slope_per_s": 50.0, "slope_percent": 0.2}}
    assert judged("backlog.slope < 1%", ramp)["value"] == 0.2
    assert judged("backlog.slope < 1", ramp)["value"] == 50


def test_the_terminal_shows_value_limit_and_outcome(judged_run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(judged_run, judged_run.summary(), to_stderr=False)
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("slo")] == [
        "slo        results.wrong == 0: held, value 0, limit 0",
        "slo        latency.p99 < 2s: missed, value 2.004s, limit 2s",
        "slo        latency.p999 < 3s: missed, value none, limit 3s",
    ]


def test_the_report_shows_objectives(judged_run: RunDir) -> None:
    page = report.write(judged_run).read_text(encoding="utf-8")
    section = page[page.index('<section id="slo"') : page.index('<section id="rates"')]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", section)
    assert [cells[n : n + 5] for n in range(0, len(cells), 5)] == [
        ["results.wrong == 0", "0", "0", "–", "yes"],
        ["latency.p99 &lt; 2s", "2.004000", "2", "s", "no"],
        ["latency.p999 &lt; 3s", "–", "3", "s", "no"],
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency.p99 < 0s", "latency.p99 is never below 0"),
        ("latency.p99 <= -1s", "latency.p99 is never below 0"),
        ("results.lost == -1", "results.lost is never below 0"),
        ("results.duplicates < 0%", "results.duplicates is never below 0"),
        ("durability.index > 1", "durability.index is never above 1"),
        ("durability.index >= 1.001", "durability.index is never above 1"),
    ],
)
def test_an_objective_that_no_run_can_meet_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        slo.check(text)
    assert str(refused.value) == f"invalid --slo {text!r}: expected an objective that a run can meet: {why}"
    slo.parse(text)  # an earlier run may have it


@pytest.mark.parametrize(
    "text",
    ["latency.p99 <= 0s", "latency.p99 > -1s", "backlog.slope < -1%", "results.duplicates < 200%", "rate.output != -1"],
)
def test_an_objective_that_a_run_can_meet_is_accepted(text: str) -> None:
    slo.check(text)
