"""A capacity against an option of the engine, with a simulated system whose capacity is known."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamgauge.campaigns import capacity
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.scale import ScaleSearch, exit_code, find_scale, parse_against, predicted
from streamgauge.campaigns.search import Next
from streamgauge.cli.main import app
from streamgauge.errors import EnvironmentProblem, Interrupted, UsageError
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model import scale as files
from streamgauge.model.capacity import CapacityProbe, SearchOutcome
from streamgauge.model.scale import ScalePoint
from streamgauge.processes import memory_limit
from streamgauge.report.scale import capacity_against_option, headline
from streamgauge.search_axis import Harder, SearchAxis
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.search_axis import axis_of

System = Callable[[float, float], str]
"""The verdict at a number of instances and a value of what is searched."""
GENERATOR_LATE = "the generator was 900.0 ms late in second 3 of the load; the limit is 200.0 ms"
IN_STEPS = "the rule slope decided"
BROKER_BEHIND = "the broker did not take the load: offered − appended grew by 900 records/s"


def campaign(out: Path, *values: float, over: str = "rate_per_s", **limits: float) -> ScaleSearch:
    changes = {"stage": "parse", "partitions": "8"}
    scenario = scenarios.resolve("ospbench/throughput", engine="kafka-streams", changes=changes)
    search = CapacitySearch(Request(scenario, out), 0.1, axis_of(over, scenario), **limits)  # type: ignore[arg-type]
    return ScaleSearch(search, "instances", values or (1, 2, 4))


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch) -> Callable[[System], list[tuple[float, float]]]:
    """Lets probes end as the system says; returns the list of those that ran: instances and value."""

    def play(system: System) -> list[tuple[float, float]]:
        ran: list[tuple[float, float]] = []

        def probe(search: CapacitySearch, step: Next, *rest: object) -> CapacityProbe:
            instances = search.request.scenario.engine_options["instances"]
            verdict, _, reason = system(instances, step.value).partition(": ")
            ran.append((instances, step.value))
            return CapacityProbe(
                value=step.value,
                verdict=verdict,
                reason=reason,
                rule="slope" if reason == IN_STEPS else None,
                validated=True,
                seconds=40.0,
                seconds_saved=0.0,
                purpose=step.purpose,
                weak=False,
                directory="probes/01",
                total_p50=5.0,
                total_p99=9.0,
            )

        monkeypatch.setattr(capacity, "_probe", probe)
        monkeypatch.setattr(capacity, "_first_guess", lambda search, reporter: 1000)
        monkeypatch.setattr(capacity, "kept_evaluator", lambda *_: contextlib.nullcontext())
        return ran

    return play


def linear(instances: float, value: float) -> str:
    return "sustained" if value <= 1000 * instances + 100 else "not sustained"


def test_a_memory_limit_that_could_not_be_applied_is_noted(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(linear)
    asked = campaign(tmp_path / "out")
    scenario = asked.search.request.scenario
    options = {**scenario.engine_options, "instance_memory_mb": 900}
    limited = replace(asked.search.request, scenario=replace(scenario, engine_options=options))
    asked = replace(asked, search=replace(asked.search, request=limited))
    monkeypatch.setattr(memory_limit, "parent", lambda: None)
    assert any("is not limited" in note for note in find_scale(asked, NullReporter()).notes)
    monkeypatch.setattr(memory_limit, "parent", lambda: tmp_path)
    assert not any("is not limited" in note for note in find_scale(asked, NullReporter()).notes)


def test_one_search_for_each_value_from_what_smaller_ones_showed(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    ran = simulate(linear)
    content = find_scale(campaign(tmp_path / "out"), NullReporter())
    assert json.loads(json.dumps(content.as_json())) == json.loads((tmp_path / "out" / "scale.json").read_text())
    assert (content.state, content.against, content.over) == ("finished", "instances", "rate_per_s")
    assert [point.directory for point in content.points] == ["instances-1", "instances-2", "instances-4"]
    for point in content.points:
        best, beyond = point.interval
        assert best is not None and beyond is not None
        assert best <= 1000 * point.value + 100 < beyond
        assert point.limited_by == "engine"
    one, two, four = (point.best or 0 for point in content.points)
    assert [point.guess for point in content.points][:2] == [1000, round(2 * one)], "twice as many, twice as much"
    assert content.points[2].guess == round(two * min(two / one, 2))
    assert [point.efficiency for point in content.points] == pytest.approx([1, two / 2 / one, four / 4 / one], abs=1e-6)
    assert content.regression is not None
    assert content.regression.points == 3
    assert content.regression.slope == pytest.approx(1000, rel=0.15)
    assert {instances for instances, _ in ran} == {1, 2, 4}
    assert exit_code(content) == 0
    assert content.notes == []
    for point in content.points:
        assert (tmp_path / "out" / point.directory / "report.html").is_file()
        assert f"./{point.directory}/report.html" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(("reason", "limit"), [(GENERATOR_LATE, "generator"), (BROKER_BEHIND, "broker")])
def test_where_the_load_was_the_limit_it_says_so_and_the_line_leaves_it_out(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]], reason: str, limit: str
) -> None:
    simulate(lambda instances, value: f"invalid: {reason}" if value > 7000 else linear(instances, value))
    content = find_scale(campaign(tmp_path / "out", 1, 2, 4, 8), NullReporter())
    *engine, last = content.points
    assert [point.limited_by for point in engine] == ["engine"] * 3
    assert (last.limited_by, last.outcome) == (limit, "ceiling")
    assert last.best is not None and last.best <= 7000
    assert content.notes == [
        f"instances 8: the {limit} was the limit, not the engine: the capacity is at least {last.best:,} records/s"
    ]
    assert content.regression is not None
    assert content.regression.points == 3
    drawn = capacity_against_option(content)
    assert drawn is not None
    band, line, edges, bounds = drawn["data"]
    assert (band["name"], bounds["x"], edges["x"]) == ("its 95 % interval", [8], [1, 2, 4])
    assert line["x"] == [1, 8]
    assert exit_code(content) == 0


def test_an_edge_just_below_what_can_be_sent_is_the_engine_s(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    """4,100 is sustained and 5,000 can be sent: a probe at more must not hide that."""
    simulate(lambda instances, value: f"invalid: {GENERATOR_LATE}" if value > 5000 else linear(instances, value))
    content = find_scale(campaign(tmp_path / "out"), NullReporter())
    assert [point.limited_by for point in content.points] == ["engine"] * 3
    assert content.notes == []


def test_it_says_where_another_rule_decided(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(lambda instances, value: f"{linear(instances, value)}: {IN_STEPS if instances == 2 else ''}")
    content = find_scale(campaign(tmp_path / "out"), NullReporter())
    assert [note.partition(",")[0] for note in content.notes] == [
        "the backlog moves by more than 100 records within a second"
    ]


def test_the_end_of_the_range_is_no_capacity(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(linear)
    content = find_scale(campaign(tmp_path / "out", 1, 2, 4, most=3000), NullReporter())
    assert [point.limited_by for point in content.points] == ["engine", "engine", "range"]
    assert "instances 4: the search came to the end of its range" in content.notes[0]
    assert headline(content)[1].endswith("(two points: no interval)")


def test_an_interrupted_scale_is_resumed_and_takes_more_values(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    stop_after = 9

    def interrupted(instances: float, value: float) -> str:
        if len(ran) == stop_after:
            raise Interrupted("stopped")
        return linear(instances, value)

    ran = simulate(interrupted)
    with pytest.raises(Interrupted):
        find_scale(campaign(tmp_path / "out", 1, 2), NullReporter())
    content = files.read(tmp_path / "out" / "scale.json")
    assert (content.state, headline(content)) == (
        "unfinished",
        ("UNFINISHED", "1 of 2 searches have come to their end"),
    )
    before, stop_after = list(ran), -1
    content = find_scale(campaign(tmp_path / "out", 1, 2), NullReporter())
    assert content.state == "finished"
    assert len({*ran[len(before) :]} & {*before}) <= 2, "only the repeat and the confirming run repeat a value"
    assert {instances for instances, _ in ran[len(before) :]} == {2}
    done = len(ran)
    assert find_scale(campaign(tmp_path / "out", 1, 2), NullReporter()) == content
    assert len(ran) == done, "a finished scale is only shown again"
    more = find_scale(campaign(tmp_path / "out", 1, 2, 4), NullReporter())
    assert {instances for instances, _ in ran[done:]} == {4}
    assert more.points[:2] == content.points
    with pytest.raises(UsageError, match=r"more values of instances(.|\n)*4 as well(.|\n)*instances=1,2,4"):
        find_scale(campaign(tmp_path / "out", 1, 2), NullReporter())


def test_a_scale_with_other_settings_or_in_another_directory_is_refused(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(linear)
    mine = campaign(tmp_path / "out", 1, 2)
    find_scale(mine, NullReporter())
    with pytest.raises(UsageError, match="another --resolution"):
        find_scale(replace(mine, search=replace(mine.search, resolution=0.2)), NullReporter())
    with pytest.raises(UsageError, match="begun with another --against"):
        find_scale(replace(mine, against="threads", values=(1, 2)), NullReporter())
    with pytest.raises(UsageError, match="not empty"):
        find_scale(campaign(tmp_path, 1, 2), NullReporter())


def test_a_value_that_cannot_be_searched_is_refused_before_the_first_search(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    ran = simulate(linear)
    larger = replace(campaign(tmp_path / "out"), against="heap_mb", values=(512, 200_000))
    with pytest.raises(EnvironmentProblem, match="--against heap_mb=200000: too little memory"):
        find_scale(larger, NullReporter())
    assert not ran and not (tmp_path / "out").exists()


def test_values_that_are_searched_already_are_not_checked(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]], checked: list[Request]
) -> None:
    simulate(linear)
    find_scale(campaign(tmp_path / "out", 1, 2), NullReporter())
    checked.clear()
    find_scale(campaign(tmp_path / "out", 1, 2, 4), NullReporter())
    assert {request.scenario.engine_options["instances"] for request in checked} == {4}


def test_values_that_differ_little_have_directories_of_their_own(tmp_path: Path) -> None:
    near = replace(campaign(tmp_path), against="heap_mb", values=(1_234_567.0, 1_234_568, 1_500_000))
    assert [near.directory(value) for value in near.values] == [f"heap_mb-{n}" for n in (1234567, 1234568, 1500000)]
    assert near.at(1_234_567.0).request.scenario.engine_options["heap_mb"] == 1_234_567
    assert [files.typed_value(value) for value in (2, 2.0, 0.5, 1.0000001)] == ["2", "2", "0.5", "1.0000001"]


def test_an_engine_that_fails_leaves_a_gap_and_the_others_are_searched(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(lambda instances, value: "failed: out of memory" if instances == 2 else linear(instances, value))
    content = find_scale(campaign(tmp_path / "out"), NullReporter())
    assert (content.state, exit_code(content)) == ("finished", 4)
    assert [point.outcome for point in content.points] == ["found", None, "found"]
    assert headline(content) == ("FAILED", "the system under test failed at instances 2")
    assert "instances 2: " in content.notes[0] and "out of memory" in content.notes[0]
    simulate(linear)
    again = find_scale(campaign(tmp_path / "out"), NullReporter())
    assert (exit_code(again), again.notes) == (0, [])


def test_less_is_harder(tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]) -> None:
    """A commit interval, of which half as much is sustained with twice the instances."""
    simulate(lambda instances, value: "sustained" if value >= 400 / instances else "not sustained")
    content = find_scale(campaign(tmp_path / "out", over="commit_ms", least=10, most=10_000), NullReporter())
    assert [point.best for point in content.points] == pytest.approx([400, 200, 100], rel=0.1)
    assert all((point.best or 0) >= 400 / point.value for point in content.points)
    assert [point.efficiency for point in content.points] == pytest.approx([1, 1, 1], rel=0.15)


def test_an_interval_that_the_generator_kept_wide_is_a_bound(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    """Between what is sustained and what is not, nothing could be sent in time: the edge may be anywhere there."""

    def system(instances: float, value: float) -> str:
        if instances != 2 or value >= 1900:
            return linear(instances, value) if instances != 2 else "not sustained"
        return f"invalid: {GENERATOR_LATE}" if value > 1400 else "sustained"

    simulate(system)
    content = find_scale(campaign(tmp_path / "out"), NullReporter())
    wide = content.points[1]
    assert (wide.outcome, wide.limited_by, wide.is_edge) == ("found", "generator", False)
    assert any("instances 2: the generator was the limit" in note for note in content.notes)
    assert content.regression is not None and content.regression.points == 2


def test_nothing_sustained_and_nothing_trusted(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(lambda instances, value: "not sustained" if instances == 1 else linear(instances, value))
    missed = find_scale(campaign(tmp_path / "missed"), NullReporter())
    assert (headline(missed), exit_code(missed)) == (("MISSED", "nothing is sustained at instances 1"), 1)
    assert [point.efficiency for point in missed.points] == [None, None, None]
    simulate(lambda instances, value: f"invalid: {GENERATOR_LATE}" if instances == 2 else linear(instances, value))
    invalid = find_scale(campaign(tmp_path / "invalid"), NullReporter())
    assert (headline(invalid)[0], exit_code(invalid)) == ("INVALID", 3)
    assert invalid.points[1].limited_by == "generator"


def point(value: float, best: float, outcome: SearchOutcome = "found") -> ScalePoint:
    return ScalePoint(
        directory=f"instances-{value:g}",
        outcome=outcome,
        interval=(best, None),
        confirmed=True,
        note="",
        seconds=1.0,
        value=value,
        limited_by="engine" if outcome == "found" else "generator",
        efficiency=None,
    )


@pytest.mark.parametrize(
    ("smaller", "value", "harder", "guess"),
    [
        ([], 4, "more", None),
        ([point(1, 1000)], 2, "more", 2000),
        ([point(1, 1000)], 2, "less", 500),
        ([point(1, 1000), point(2, 1000)], 4, "more", 1000),
        ([point(1, 1000), point(2, 1500)], 4, "more", 2250),
        ([point(1, 1000), point(2, 500)], 4, "less", 250),
        ([point(1, 1000), point(2, 9000)], 4, "more", 18_000),
        ([point(1, 1000), point(2, 1500, "ceiling")], 4, "more", 1500),
    ],
)
def test_where_a_search_begins(smaller: list[ScalePoint], value: float, harder: Harder, guess: float | None) -> None:
    assert predicted(smaller, value, SearchAxis("rate_per_s", harder)) == guess


def test_the_values_are_typed_as_any_setting() -> None:
    assert parse_against("instances=4,1,2", "kafka-streams") == ("instances", (1, 2, 4))
    assert parse_against("heap_mb=1g, 512", "kafka-streams") == ("heap_mb", (512, 1024))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("instances", "KEY=VALUE"),
        ("instances=", "KEY=VALUE"),
        ("instances=1", "at least two"),
        ("instances=1,1", "each once"),
        ("instances=1,1.5", "whole number"),
        ("instances=0,1", "at least 1"),
        ("instances=nan,1", "whole number"),
        ("instances=1,inf", "whole number"),
        ("instances=1,1e400", "whole number"),
        (f"instances=1,{10**400}", "whole number"),
        ("delivery=1,2", "unknown --against"),
        ("partitions=1,2", "unknown --against"),
    ],
)
def test_values_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_against(text, "kafka-streams")


def test_what_is_searched_cannot_be_the_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="both instances"):
        campaign(tmp_path, over="instances")
    with pytest.raises(UsageError, match="--against heap_mb=32"):
        replace(campaign(tmp_path), against="heap_mb", values=(32, 64))


def test_instances_without_a_partition_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"instances=12: 12 members(.|\n)*8 partitions(.|\n)*--set partitions=16"):
        campaign(tmp_path, 8, 12, 16)
    campaign(tmp_path, 1, 8)


def test_an_engine_that_assigns_its_partitions_may_have_any_number_of_nodes(tmp_path: Path) -> None:
    scenario = scenarios.resolve("ospbench/throughput", engine="flink", changes={"stage": "parse", "partitions": "1"})
    search = CapacitySearch(Request(scenario, tmp_path), 0.1, axis_of("rate_per_s", scenario))
    assert ScaleSearch(search, "taskmanagers", (1, 2)).values == (1, 2)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text('{"format": 2}')
    with pytest.raises(UsageError, match="format"):
        files.read(tmp_path / "scale.json")
    (tmp_path / "scale.json").write_text('{"format": 1, "against": 3}')
    with pytest.raises(UsageError, match="damaged"):
        files.read(tmp_path / "scale.json")


def test_the_command_prints_the_answer_or_its_file_alone(
    tmp_path: Path, simulate: Callable[[System], list[tuple[float, float]]]
) -> None:
    simulate(lambda instances, value: f"invalid: {GENERATOR_LATE}" if value > 2500 else linear(instances, value))
    words = ["scale", "ospbench/throughput", "--engine", "kafka-streams", "--set", "stage=parse"]
    words += ["--set", "partitions=4", "--against", "instances=1,2,4", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "FOUND: each further unit of instances adds" in shown.stdout
    assert "instances 4: the generator was the limit, not the engine: the capacity is at least" in shown.stdout
    assert str(tmp_path / "out" / "report.html") in shown.stdout
    content = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert content == json.loads((tmp_path / "out" / "scale.json").read_text())
    assert [point["limited_by"] for point in content["points"]] == ["engine", "engine", "generator"]
