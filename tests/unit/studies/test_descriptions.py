"""What the studies ran and printed, as their papers have it."""

from __future__ import annotations

import pytest

from streamgauge import registry
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.description import Study


def study(name: str) -> Study:
    found: Study = registry.study(name).STUDY
    return found


def test_the_exhibits_in_the_order_of_the_papers() -> None:
    assert [exhibit.name for exhibit in study("ospbench").exhibits] == [
        "Table 1",
        "Table 2",
        *(f"Fig. {number}" for number in range(2, 8)),
    ]
    assert [exhibit.name for exhibit in study("stage-latency").exhibits] == ["Fig. 3"]


@pytest.mark.parametrize("name", ["ospbench", "stage-latency"])
def test_every_experiment_is_a_stage_of_a_scenario(name: str) -> None:
    for experiment in study(name).experiments:
        assert experiment.scenario.startswith(f"{name}/")
        assert experiment.stage in scenarios.describe(experiment.scenario).workloads


def test_every_experiment_of_a_figure_counts_for_the_scores() -> None:
    _, scores, *figures = study("ospbench").exhibits
    assert {one for figure in figures for one in figure.experiments} < set(scores.experiments)
    assert study("ospbench").experiments == scores.experiments


@pytest.mark.parametrize(
    ("exhibit", "engine", "stage", "what", "variant", "value"),
    [
        ("Fig. 2", "Structured Streaming 2.4.1", "ingest", "median latency", "built-in", 105),
        ("Fig. 2", "Spark Streaming 2.4.1", "ingest", "median latency", "built-in", 140),
        ("Fig. 2", "Kafka Streams 2.1.0", "join", "median latency", "built-in", 2),
        ("Fig. 2", "Structured Streaming 2.4.1", "join", "median latency", "built-in", 582),
        ("Fig. 2", "Structured Streaming 2.4.1", "tumbling", "p99 latency", "built-in", 4649),
        ("Fig. 2", "Structured Streaming 2.4.1", "tumbling", "median latency", "customised", 1277),
        ("Fig. 3", "Structured Streaming 2.4.1", "tumbling", "sustainable rate", "built-in", 115_000),
        ("Fig. 3", "Spark Streaming 2.4.1", "tumbling", "sustainable rate, batches of 5 s", "built-in", 30_000),
        ("Fig. 4", "Structured Streaming 2.4.1", "tumbling", "caught up", "built-in", 53),
        ("Fig. 4", "Kafka Streams 2.1.0", "tumbling", "caught up", "built-in", 99),
    ],
)
def test_numbers_of_ospbench(exhibit: str, engine: str, stage: str, what: str, variant: str, value: float) -> None:
    found = next(one for one in study("ospbench").exhibits if one.name == exhibit)
    marks = [
        mark
        for mark in found.marks
        if (mark.engine, mark.stage, mark.what, mark.variant) == (engine, stage, what, variant)
    ]
    assert [mark.value for mark in marks] == [value]


def test_the_paper_gives_a_score_to_every_system_that_has_the_api() -> None:
    marks = study("ospbench").exhibits[1].marks
    assert len(marks) == 10 * 4 - 2
    assert {mark.value for mark in marks} == {1, 2, 3, 4}
    assert [mark.value for mark in marks if mark.engine == "Flink 1.9.1"] == [4, 4, 4, 2, 4, 4, 2, 3, 4, 4]
    assert [mark.value for mark in marks if mark.engine == "Structured Streaming 2.4.1"] == [
        1,
        1,
        2,
        4,
        1,
        2,
        4,
        4,
        1,
        2,
    ]


def test_what_each_stage_adds_in_stage_latency() -> None:
    marks = study("stage-latency").exhibits[0].marks
    added = {mark.stage: mark.value for mark in marks if mark.what == "added median latency"}
    medians = {mark.stage: mark.value for mark in marks if mark.what == "median latency"}
    assert added == {"parse": 172, "join": 835, "tumbling": 558, "sliding": 488}
    assert medians == {"ingest": 292, "parse": 464, "join": 1298, "sliding": 2344}
    # The paper rounds each number on its own.
    assert medians["ingest"] + sum(added.values()) == pytest.approx(medians["sliding"], abs=2)


@pytest.mark.parametrize("name", ["ospbench", "stage-latency"])
def test_the_papers_systems_are_engines_of_ours(name: str) -> None:
    described = study(name)
    systems = {mark.engine for exhibit in described.exhibits for mark in exhibit.marks}
    assert set(described.engines) <= systems
    tables = scenarios.describe(described.experiments[0].scenario).paper.engines
    assert set(described.engines.values()) <= set(tables)
    assert (described.runs.get("paper"), described.runs.get("laptop")) == (5, None)


def test_the_order_of_medians_is_that_of_the_papers_numbers() -> None:
    figure = next(exhibit for exhibit in study("ospbench").exhibits if exhibit.ranking)
    ranking = figure.ranking
    assert ranking is not None
    medians = {
        mark.engine: mark.value
        for mark in figure.marks
        if (mark.stage, mark.what, mark.variant) == (ranking.stage, "median latency", ranking.variant)
    }
    assert max(medians[name] for name in ranking.lower) < min(medians[name] for name in ranking.higher)
