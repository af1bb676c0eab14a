"""From results to state: what the evaluation gives the rules to look at."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tallies import row, tally

from run_files import change, content, write_manifest
from streamgauge.evaluate import evaluation, sustained
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import resources
from streamgauge.evaluate.tally import Tally
from streamgauge.model.summary import Summary, Trend
from streamgauge.notices import notice
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"
SECONDS = range(2, 10)
"""The golden run: 40 records/s, 2 s of warm-up, 8 s measured, 0.5 s of tail, 5 s of drain."""


def results(total_ms: Callable[[int], int]) -> Tally:
    """Forty results a second; ``total_ms`` of the second of the measured interval, from 0 on."""
    rows = []
    for second in SECONDS:
        ms = total_ms(second - 2)
        part = (second - 2) * 20 // 8
        answered = second + ms // 1000
        rows.append(row(second=second, part=part, appended=second, answered=answered, total=ms, latest=ms, inputs=40))
    return dataclasses.replace(tally(*rows), rows=tally(*rows).inputs)


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Summary]:
    def judge(
        rows: Tally,
        *,
        shape: str = "constant",
        outcome: dict[str, Any] | None = None,
        lag: float | None = None,
        lag_grows: float = 0.0,
        **manifest: Any,
    ) -> Summary:
        shutil.copytree(GOLDEN, tmp_path / "run")
        run = RunDir.open(tmp_path / "run")
        changed = content(run.manifest_path)
        changed["scenario"] |= manifest.pop("scenario", {})
        changed["engine"] |= manifest.pop("engine", {})
        write_manifest(run, changed | manifest)
        change(run.outcome_path, **(outcome or {}))
        if lag is not None:
            path = run.path / "samples" / "positions.jsonl"
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            samples = [line | {"lag": lag + lag_grows * number} for number, line in enumerate(lines)]
            path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        facts = Facts.read(run)
        facts = dataclasses.replace(facts, plan=dataclasses.replace(facts.plan, shape=shape))
        return evaluation._evaluate(run, facts, rows, recorded=True)

    return judge


def test_steady(judged: Any) -> None:
    summary = judged(results(lambda second: 100), scenario={"sustained": "sustainable"})
    assert (summary.state, summary.sustained) == ("steady", True)
    assert summary.trend == Trend(total_ms_per_s=0.0, total_ci=(0.0, 0.0))


def test_a_run_that_is_catching_up_with_its_start_is_drifting(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not sustained by its rule, which limits the median, but it is not the rate that is too high."""
    monkeypatch.setattr(sustained, "MEDIAN_LIMIT_MS", 1000.0)
    falling = results(lambda second: 3000 - 400 * second)
    waited = [row(phase="warmup", second=1, appended=1, answered=second, inputs=100) for second in SECONDS]
    both = {name: np.concatenate([getattr(one, name) for one in (falling, tally(*waited))]) for name in row()}
    summary = judged(dataclasses.replace(falling, **both), scenario={"sustained": "slope"})
    assert (summary.state, summary.sustained) == ("drifting", False)
    assert summary.state_reason is not None and "the median latency fell by" in summary.state_reason
    why = "not sustained, but it was still catching up with its start: the median latency is"
    assert [text.endswith("; the limit is 1 s") for text in summary.warnings if text.startswith(why)] == [True]


def test_a_high_latency_that_stays_is_overload(judged: Any) -> None:
    summary = judged(results(lambda second: 30_000), scenario={"sustained": "slope"})
    assert (summary.state, summary.sustained) == ("overloaded", False)


def test_overloaded(judged: Any) -> None:
    summary = judged(results(lambda second: 100 + 500 * second), scenario={"sustained": "sustainable"})
    assert (summary.state, summary.sustained) == ("overloaded", False)
    assert summary.trend == Trend(total_ms_per_s=500.0, total_ci=(500.0, 500.0))
    assert any(text.startswith("overloaded: the latency rose throughout") for text in summary.warnings)


def test_drifting_is_judged_where_the_rate_is_constant(judged: Any) -> None:
    summary = judged(results(lambda second: 100 + 8 * second), scenario={"sustained": "sustainable"})
    assert (summary.state, summary.sustained) == ("drifting", True)


def test_a_load_that_rises_may_take_the_latency_with_it(judged: Any) -> None:
    summary = judged(results(lambda second: 100 + 8 * second), shape="ramp", scenario={"sustained": "slope"})
    assert summary.state == "steady"


def test_without_a_rule_nobody_judged_a_load_that_changes(judged: Any) -> None:
    summary = judged(results(lambda second: 100), shape="ramp")
    assert (summary.state, summary.sustained) == (None, None)
    assert summary.state_reason == notice("overload-not-judged")


@pytest.mark.parametrize(
    ("rows", "state"),
    [(results(lambda second: 100), "steady"), (results(lambda second: 100 + 3000 * second), "overloaded")],
)
def test_a_run_that_fell_behind_did_not_keep_up_though_nobody_asks(judged: Any, rows: Tally, state: str) -> None:
    summary = judged(rows)
    assert (summary.state, summary.sustained) == (state, None)
    assert not any("overloaded" in text for text in summary.warnings)


def test_too_short_for_a_trend(judged: Any) -> None:
    few = results(lambda second: 100)
    few = dataclasses.replace(few, second=few.second.clip(max=5))
    assert judged(few).trend == Trend(total_ms_per_s=None, total_ci=None)


@pytest.mark.parametrize(
    ("assumed", "seen", "note"),
    [
        (True, {}, "not applied: the engine shares its cores with transport and load"),
        (False, {}, None),
        (True, {"shared_cores": False}, None),
        (False, {"shared_cores": True}, "not applied: the engine shares its cores with transport and load"),
        (False, {"shared_cores": None}, "not applied: the engine's share of its cores is not known"),
    ],
)
def test_ospbench_asks_for_the_engines_own_cores(
    judged: Any, assumed: bool, seen: dict[str, Any], note: str | None
) -> None:
    """Earlier versions assumed it in the manifest."""
    scenario = {"sustained": "ospbench"}
    summary = judged(results(lambda second: 100), scenario=scenario, shared_cores=assumed, outcome=seen)
    assert (summary.state, summary.sustained) == ("steady", True)
    assert [text for text in summary.warnings if "not applied" in text] == (
        [f"the CPU limit of the rule ospbench was {note}"] if note else []
    )


def test_the_engines_share_is_of_the_cores_that_it_was_allowed(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """0.9 cores of the one that it was bound to, on a machine with more."""
    used = {"engine": {"cpu_mean": 0.9, "rss_max_mb": None, "heap_max_mb": None, "gc_ms": None}}
    monkeypatch.setattr(resources, "by_group", lambda _: used)
    seen = {"shared_cores": False, "cores": {"engine": [3], "load": [0], "broker": [1]}}
    summary = judged(results(lambda second: 100), scenario={"sustained": "ospbench"}, outcome=seen)
    assert summary.sustained is False
    assert any("the engine used 90 % of its cores" in text for text in summary.warnings)


def test_ospbench_sees_results_that_come_late(judged: Any) -> None:
    summary = judged(results(lambda second: 100 if second else 9500 + 10_000), scenario={"sustained": "ospbench"})
    assert summary.sustained is False
    assert any("the last result came 12 s after the end of the load" in text for text in summary.warnings)


def waiting(*wait_ms: int, inputs: int = 1, growth_ms: int = 0, backlog_grows: int = 0) -> Tally:
    """In each second, as many results as there are waits, each of so many inputs. By ``backlog_grows`` inputs more of
    each second are still without a result at the end."""
    rows = [row(second=s, appended=s, fate="unfinished", inputs=backlog_grows) for s in SECONDS if backlog_grows]
    for second in SECONDS:
        part = (second - 2) * 20 // 8
        waits = (ms + growth_ms * second for ms in wait_ms)
        rows += [row(second=second, part=part, appended=second, total=ms, latest=ms, inputs=inputs) for ms in waits]
    return tally(*rows)


@pytest.mark.parametrize("engine", [{}, {"micro_batches": True}, {"transactional": True}])
@pytest.mark.parametrize(
    ("rows", "warned"),
    [
        # By hand: 400 inputs a second come out once a second, so they have waited evenly up to a second. The middle
        # half of them is 0.5 s apart, which makes a step of 400 × 2 × 0.5 s. Every 0.2 s it is one of 80.
        (waiting(*range(0, 1000, 10), inputs=4), True),
        (waiting(*range(0, 200, 2), inputs=4), False),
        # All have waited for 3 s: 1,200 are in the backlog, and they leave it one by one.
        (waiting(*[3000] * 400), False),
        # The wait grows by 5 ms a second, so the backlog by 2 records a second: what the rule is for.
        (waiting(*range(100, 105), inputs=80, growth_ms=5), False),
        # Every input comes out on its own, and 120 a second do not. The last of a second waits 0.3 s longer than the
        # first: quartiles 0.15 s apart, which is 400 × 2 × 0.15 s, but all of it growth.
        (waiting(*range(0, 300, 3), inputs=4, growth_ms=300, backlog_grows=120), False),
        (waiting(*range(0, 600, 6), inputs=4, growth_ms=300, backlog_grows=120), True),
        # A single result with more than 100 inputs is a step.
        (waiting(50, inputs=101), True),
        (waiting(50, inputs=100), False),
    ],
)
def test_steps_are_known_by_how_differently_inputs_of_a_second_have_waited(
    judged: Any, rows: Tally, warned: bool, engine: dict[str, Any]
) -> None:
    """Whatever the engine declares."""
    summary = judged(rows, scenario={"sustained": "scalability"}, engine=engine)
    assert (notice("lag-in-steps") in summary.warnings) is warned


@pytest.mark.parametrize(("lag", "grows", "warned"), [(50.0, 0.0, False), (51.0, 0.0, True), (0.0, 10.0, False)])
def test_a_sink_is_judged_by_the_rule_of_its_scenario(judged: Any, lag: float, grows: float, warned: bool) -> None:
    """It has no latency, and needs none. Of a position that moves in steps of 102, 51 wait on average; what the lag
    grows by is no step."""
    sink = {"workload": "power/sink", "choice": "program", "chosen": "sink", "parameters": {"keys": 0}}
    summary = judged(Tally.empty(), scenario={**sink, "sustained": "scalability"}, lag=lag, lag_grows=grows)
    assert not any("only the slope of the backlog" in text for text in summary.warnings)
    assert (notice("lag-in-steps") in summary.warnings) is warned
    assert any("60 whole seconds are needed" in text for text in summary.warnings) is not warned


def test_objectives_of_a_whole_run(judged: Any) -> None:
    evaluated = judged(
        results(lambda second: 100), scenario={"slo": ["latency.p50 <= 0.1s", "results.matched == 100 %"]}
    )
    assert [(entry.value, entry.passed) for entry in evaluated.slo] == [(0.1, True), (100, True)]
