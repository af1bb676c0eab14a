"""The search's own parts that need no run: what a probe shows, what is searched, going on with a search."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import written_runs
from typer.testing import CliRunner
from written_runs import probe

from streamgauge.campaigns import capacity
from streamgauge.campaigns.capacity import CapacitySearch, exit_code, find_capacity
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.probes import judge
from streamgauge.campaigns.search import Answer
from streamgauge.cli.main import app, main
from streamgauge.errors import EngineFailed, EnvironmentProblem, UsageError
from streamgauge.evaluate.metrics.arrival import server_blamed
from streamgauge.machine import description
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model import capacity as capacity_model
from streamgauge.model.capacity import BestLatency, Capacity
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.search_axis import axis_of


def capacity_search(
    out: Path, *, resolution: float = 0.10, over: str = "rate_per_s", engine: str = "echo", **changes: str
) -> CapacitySearch:
    scenario = scenarios.resolve("ospbench/throughput", engine=engine, changes={"stage": "parse"} | changes)
    return CapacitySearch(Request(scenario, out), resolution, axis_of(over, scenario))


def summary(**changes: Any) -> Summary:
    return written_runs.summary(**{"sustained": True, "warnings": [], **changes})


def test_a_search_goes_no_further_than_it_may(tmp_path: Path) -> None:
    search = capacity_search(tmp_path)
    assert search.target(5000).highest == 10_000_000
    bounded = replace(search, most=400_000)
    assert (bounded.target(5000).guess, bounded.target(5000).highest) == (5000, 400_000)
    assert (bounded.target(900_000).guess, bounded.target(900_000).highest) == (400_000, 400_000)


BACKLOG = {"end": 0, "slope_per_s": 0.0}
MISSED = {"slo": "latency.p99 < 2s", "value": 2400.0, "limit": 2000.0, "unit": "ms", "passed": False}


@pytest.mark.parametrize(
    ("probed", "verdict", "weak"),
    [
        (summary(), "sustained", False),
        (summary(sustained=False, state_reason="overloaded: the backlog grew"), "not sustained", False),
        (summary(slo=[MISSED]), "not sustained", False),
        (summary(sustained=None, backlog=BACKLOG | {"slope_percent": 0.9}), "sustained", True),
        (summary(sustained=None, backlog=BACKLOG | {"slope_percent": 1.0}), "not sustained", True),
        (summary(sustained=None, backlog=BACKLOG | {"slope_percent": None}), "undecided", True),
        (summary(verdict="INVALID", sustained=False, reasons=["the generator was late"]), "invalid", False),
        (summary(verdict="FAILED", reasons=["3 results are wrong"]), "failed", False),
    ],
)
def test_what_a_probe_shows(probed: Summary, verdict: str, weak: bool) -> None:
    word, reason, is_weak = judge(probed, "slope")
    assert (word, is_weak) == (verdict, weak)
    assert bool(reason) == (probed != summary())


@pytest.mark.parametrize(("low", "verdict"), [(0.9, "invalid"), (1.0, "not sustained")])
def test_a_broker_s_ceiling_is_not_the_engine_s_unless_it_fell_behind_too(low: float, verdict: str) -> None:
    reasons = [
        "30 records of the measured interval could not be delivered",
        "the broker did not take the load: it fell behind",
    ]
    backlog = BACKLOG | {"slope_percent": 2.0, "slope_percent_ci": [low, 3.0]}
    word, reason, _ = judge(summary(verdict="INVALID", sustained=False, reasons=reasons, backlog=backlog), "slope")
    assert word == verdict
    assert "the broker did not take the load" in reason
    assert bool(server_blamed(reason)) is (verdict == "invalid")


@pytest.mark.parametrize(("lost", "verdict"), [(11, "not sustained"), (10, "sustained")])
def test_without_a_rule_missing_results_count_all_the_same(lost: int, verdict: str) -> None:
    probed = summary(sustained=None, results={"expected": 1000, "lost": lost, "unfinished": 0})
    assert judge(probed, None)[0] == verdict


@pytest.mark.parametrize(
    "reason", ["overloaded: the backlog grew", notice("gave-out", reason="the queues overflowed"), notice("no-result")]
)
def test_the_reason_is_the_one_that_counts(reason: str) -> None:
    probed = summary(
        sustained=False, state="overloaded", state_reason=reason, warnings=["busy machine", reason], slo=[MISSED]
    )
    assert judge(probed, "slope")[1] == f"{reason}; SLO missed: latency.p99 < 2s, was 2400.0"


def test_the_reason_of_a_probe_that_was_given_up_is_the_referee_s() -> None:
    probed = summary(sustained=False, warnings=["busy machine", "the lag grew"])
    assert judge(probed, "slope", "the lag grew") == ("not sustained", "the lag grew", False)
    assert judge(probed, "slope", "it may have grown", True) == ("not sustained", "it may have grown", True)
    assert judge(probed.with_changes(verdict="INVALID", reasons=["late"]), "slope", "the lag grew")[0] == "invalid"


def test_without_a_rule_the_objectives_alone_decide() -> None:
    assert judge(summary(sustained=None), None) == ("sustained", "", False)
    assert judge(summary(sustained=None, slo=[MISSED]), None)[0] == "not sustained"


def test_what_is_searched_is_changed_and_nothing_else(tmp_path: Path) -> None:
    rate = capacity_search(tmp_path)
    assert rate.scenario_at(1234).load.rate_per_s == 1234
    unchanged = {"load": rate.request.scenario.load, "scaled": rate.request.scenario.scaled}
    assert replace(rate.scenario_at(1234), **unchanged) == rate.request.scenario
    cores = capacity_search(tmp_path, over="cores", engine="spark")
    assert cores.start == 2
    assert cores.scenario_at(3).engine_options["cores"] == 3
    assert cores.scenario_at(3).load == cores.request.scenario.load
    assert not cores.target(2).more_is_harder
    assert rate.target(400).more_is_harder
    assert capacity_search(tmp_path, over="partitions").scenario_at(7).partitions == 7


@pytest.mark.parametrize(
    ("over", "changes", "says"),
    [
        ("core", {}, "did you mean"),
        ("delay", {}, "unknown"),
        ("seed", {}, "unknown"),
        ("to_per_s", {}, "unknown"),
        ("rate_per_s", {"sustained": "none"}, "no rule for a sustained rate"),
        ("rate_per_s", {"shape": "ramp", "to_per_s": "10"}, "constant load"),
    ],
)
def test_a_search_that_cannot_mean_anything_is_refused(
    tmp_path: Path, over: str, changes: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        capacity_search(tmp_path, over=over, engine="spark" if over == "core" else "echo", **changes)


EARLY_SETTINGS = {
    "scenario": "ospbench/throughput",
    "profile": "laptop",
    "stage": "join",
    "engine": "flink",
    "rule": "slope",
    "slo": [],
    "resolution": 0.1,
    "over": "rate_per_s",
    "start": 4000,
    "rate_per_s": 4000,
    "warmup_s": 50.0,
    "rising_warmup": True,
    "measured_s": 30.0,
    "arrivals": "even",
    "keys": "dataset",
    "generators": 1,
    "partitions": 2,
    "out_of_order_ms": 500,
    "drain_deadline_s": 60.0,
    "seed": 1,
    "parameters": {"out_of_order_ms": 500, "join_bound_ms": 1000},
    "bootstrap": None,
    "program": [],
    "job": None,
}
"""As the first versions wrote them, without the engine's options."""


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, None),
        ({"arrivals": "poisson"}, "another arrivals"),
        ({"out_of_order_ms": "400"}, r"another parameters\.out_of_order_ms"),
        ({"join_bound_ms": "900"}, r"another parameters\.join_bound_ms"),
        ({"stage": "tumbling"}, "another stage"),
    ],
)
def test_a_file_of_an_early_version_is_resumed(tmp_path: Path, changes: dict[str, str], refused: str | None) -> None:
    begun = capacity_search(tmp_path, engine="flink", stage="join")
    CapacityFile.open(tmp_path, begun.settings()).set_guess(7)
    content = json.loads((tmp_path / "capacity.json").read_text())
    del content["harder"]
    content["settings"] = {**EARLY_SETTINGS, "options": begun.settings()["options"]}
    (tmp_path / "capacity.json").write_text(json.dumps(content))
    now = capacity_search(tmp_path, engine="flink", **{"stage": "join", **changes})
    if refused is None:
        assert CapacityFile.open(tmp_path, now.settings()).guess == 7
    else:
        with pytest.raises(UsageError, match=refused):
            CapacityFile.open(tmp_path, now.settings())


def test_an_early_file_calls_the_script_job(tmp_path: Path) -> None:
    begun = capacity_search(tmp_path, stage="parse")
    CapacityFile.open(tmp_path, begun.settings())
    content = json.loads((tmp_path / "capacity.json").read_text())
    settings = {key: value for key, value in content["settings"].items() if key != "script"}
    for job, resumed in ((None, True), ("1a2b", False)):
        early = {**content, "settings": {**settings, "job": job}}
        (tmp_path / "capacity.json").write_text(json.dumps(early))
        assert capacity_model.read(tmp_path / "capacity.json").settings == {**settings, "script": job}
        with contextlib.nullcontext() if resumed else pytest.raises(UsageError, match="another --script"):
            CapacityFile.open(tmp_path, begun.settings())


@pytest.mark.parametrize(("over", "engine"), [("rate_per_s", "echo"), ("cores", "spark"), ("partitions", "echo")])
def test_a_file_without_a_direction_is_resumed(tmp_path: Path, over: str, engine: str) -> None:
    wanted = capacity_search(tmp_path, over=over, engine=engine)
    CapacityFile.open(tmp_path, wanted.settings()).set_guess(7)
    content = json.loads((tmp_path / "capacity.json").read_text())
    del content["harder"], content["settings"]["harder"]
    (tmp_path / "capacity.json").write_text(json.dumps(content))
    assert CapacityFile.open(tmp_path, wanted.settings()).guess == 7
    assert SearchAxis.of_settings(content) == wanted.axis


def test_a_search_goes_on_only_with_the_same_settings(tmp_path: Path) -> None:
    settings = capacity_search(tmp_path).settings()
    begun = CapacityFile.open(tmp_path, settings)
    begun.set_guess(1000)
    begun.add(probe(909))
    again = CapacityFile.open(tmp_path, settings)
    assert again.guess == 1000
    assert list(again.probes) == list(begun.probes)
    assert again.next_number == 2
    with pytest.raises(UsageError, match=r"another --resolution(.|\n)*got: 0.05(.|\n)*expected: 0.1"):
        CapacityFile.open(tmp_path, capacity_search(tmp_path, resolution=0.05).settings())
    with pytest.raises(UsageError, match=r"another options\.delay_ms\n(.|\n)*got: 5.0\n  expected: 0.0\n"):
        CapacityFile.open(tmp_path, capacity_search(tmp_path, delay_ms="5.0").settings())
    elsewhere = {
        "without --load-master": {"load_master": "spark://host:7077"},
        "with another streamgauge": {"streamgauge": "0.1"},
        "with another machine.cores": {"machine.cores": 96},
    }
    for begun_how, other in elsewhere.items():
        with pytest.raises(UsageError, match=f"begun {begun_how}\n"):
            CapacityFile.open(tmp_path, {**settings, **other})


def test_no_rule_is_a_rule_of_its_own(tmp_path: Path) -> None:
    """``--rule none`` is not the same as no ``--rule``."""
    settings = capacity_search(tmp_path).settings()
    CapacityFile.open(tmp_path, {**settings, "rule": None}).set_guess(1000)
    with pytest.raises(UsageError, match=r"begun with another --rule\n(.|\n)*got: slope\n  expected: none\n"):
        CapacityFile.open(tmp_path, {**settings, "rule": "slope"})


@pytest.mark.parametrize(
    ("over", "engine", "ends"),
    [("heap_mb", "spark", (256, 3072)), ("checkpoint_ms", "flink", (10, 10_000)), ("partitions", "echo", (1, 1000))],
)
def test_a_search_stays_within_what_the_engine_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: str, engine: str, ends: tuple[int, int]
) -> None:
    monkeypatch.setattr(description, "memory_mb", lambda: 3072)
    wanted = capacity_search(tmp_path, over=over, engine=engine)
    target = wanted.target(wanted.start)
    assert (target.lowest, target.highest) == ends


def test_every_setting_that_changes_a_result_is_compared(tmp_path: Path) -> None:
    """A scenario value that the settings leave out would let two searches be mixed."""
    joined: dict[str, Any] = {"engine": "spark", "stage": "join"}
    plain = capacity_search(tmp_path, **joined).settings()
    changes = {
        "stage": "ingest",
        "rate_per_s": "401",
        "warmup_s": "3.0",
        "measured_s": "7.0",
        "partitions": "3",
        "out_of_order_ms": "7",
        "drain_deadline_s": "9.0",
        "quiet_s": "2.0",
        "arrivals": "poisson",
        "keys": "zipf",
        "generators": "2",
        "sustained": "ospbench",
        "join_bound_ms": "900",
        "seed": "99",
        "heap_mb": "2048",
    }
    settings = {key: capacity_search(tmp_path, **{**joined, key: value}).settings() for key, value in changes.items()}
    assert [key for key, changed in settings.items() if changed == plain] == []


def test_a_directory_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        CapacityFile.open(tmp_path, capacity_search(tmp_path).settings())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_refused_search_writes_nothing(tmp_path: Path, begun: bool) -> None:
    """The next command may then have another --bootstrap, or less memory, and the same --out."""
    refused = capacity_search(tmp_path / "out", engine="spark", heap_mb="200000")
    if begun:
        CapacityFile.open(tmp_path / "out", refused.settings())
    before = [path.name for path in tmp_path.rglob("*")]
    with pytest.raises(EnvironmentProblem, match="too little memory"):
        find_capacity(refused, NullReporter())
    assert [path.name for path in tmp_path.rglob("*")] == before


def test_the_first_run_within_the_bounds_is_checked(tmp_path: Path, checked: list[Request]) -> None:
    search = capacity_search(tmp_path, over="heap_mb", engine="spark", heap_mb="200000")
    replace(search, most=512).check()
    assert checked[0].scenario.engine_options["heap_mb"] == 512
    assert checked[0].out == tmp_path / "probes" / "00-drain"


def test_a_finished_search_is_shown_and_not_run_again(tmp_path: Path, checked: list[Request]) -> None:
    wanted = capacity_search(tmp_path)
    file = CapacityFile.open(tmp_path, wanted.settings())
    file.set_guess(1000)
    confirming = probe(909, purpose="confirm", total_p50=3.0, total_p99=7.0)
    for row in (probe(909), probe(1000, "not sustained"), confirming):
        file.add(row)
    file.finish(Answer("found", 909, 1000, True))
    before = (tmp_path / "capacity.json").read_bytes()
    shown: list[Any] = []
    content = find_capacity(wanted, NullReporter(), shown.append)
    assert not checked
    assert content.interval == (909, 1000)
    assert content.best_latency_ms == BestLatency(p50=3.0, p99=7.0)
    assert content.seconds == 120.0
    assert len(shown) == 3
    assert (tmp_path / "capacity.json").read_bytes() == before
    assert json.loads(before) == json.loads(json.dumps(content.as_json()))


def test_a_system_that_failed_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise EngineFailed("it failed while it drained a backlog", got="9 of 10 results were lost")

    monkeypatch.setattr(capacity, "_first_guess", fail)
    with pytest.raises(EngineFailed):
        find_capacity(capacity_search(tmp_path), NullReporter())
    content = json.loads((tmp_path / "capacity.json").read_text())
    assert (content["outcome"], content["note"]) == (
        None,
        "it failed while it drained a backlog: 9 of 10 results were lost",
    )


@pytest.mark.parametrize(
    ("rows", "validated"),
    [((), None), ((None,), None), ((True, None, True), True), ((True, False), False)],
)
def test_a_search_is_validated_where_its_probes_are(
    tmp_path: Path, rows: tuple[bool | None, ...], validated: bool | None
) -> None:
    file = CapacityFile.open(tmp_path, capacity_search(tmp_path).settings())
    for row in rows:
        file.add(probe(1000, validated=row))
    assert json.loads((tmp_path / "capacity.json").read_text())["validated"] is validated


@pytest.mark.parametrize(("outcome", "code"), [("found", 0), ("ceiling", 0), ("missed", 1), ("invalid", 3)])
def test_exit_codes(outcome: str, code: int) -> None:
    assert exit_code(Capacity.model_construct(outcome=outcome)) == code


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"format": 1, "pro', "use another --out"),
        ('{"format": 1}', "use another --out"),
        ('{"format": 2}', "got: 2\n  expected: 1\n  try: use the version"),
        ('{"format": "1"}', "got: '1'\n  expected: 1\n"),
    ],
)
def test_a_file_that_is_none_of_ours_is_told_and_left_alone(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "capacity.json").write_text(content)
    asked = CliRunner().invoke(app, ["capacity", "ospbench/throughput", "-e", "echo", "--set", "stage=parse",
                                     "--out", str(tmp_path)])  # fmt: skip
    assert isinstance(asked.exception, UsageError)
    assert says in asked.exception.message()
    assert [path.name for path in tmp_path.iterdir()] == ["capacity.json"]


def test_a_path_below_a_file_is_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = str(tmp_path / "file" / "x")
    monkeypatch.setattr(sys, "argv", ["streamgauge", "capacity", "ospbench/throughput", "-e", "echo",
                                      "--set", "stage=parse", "--out", out])  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == UsageError.exit_code
    assert f"{tmp_path / 'file'} is a file" in capsys.readouterr().err
