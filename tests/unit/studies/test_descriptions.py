"""The studies' experiments and numbers match their papers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from streamgauge import registry
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.stages import Variant, dimensions
from streamgauge.study import Exhibit, Experiment, Study

P50 = "latency.latest.p50"


def study(name: str) -> Study:
    return registry.study_description(name)


def test_exhibits_are_in_the_order_of_the_papers() -> None:
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
        assert experiment.settings["stage"] in scenarios.describe(experiment.scenario).workloads


def test_every_experiment_of_a_figure_counts_for_the_scores() -> None:
    _, scores, *figures = study("ospbench").exhibits
    of_figures = {one.name for figure in figures for one in figure.experiments}
    assert of_figures < {one.name for one in scores.experiments}
    assert study("ospbench").experiments == scores.experiments


@pytest.mark.parametrize(
    ("exhibit", "system", "stage", "metric", "variant", "value"),
    [
        ("Fig. 2", "Structured Streaming 2.4.1", "ingest", P50, "built-in", 105),
        ("Fig. 2", "Spark Streaming 2.4.1", "ingest", P50, "built-in", 140),
        ("Fig. 2", "Kafka Streams 2.1.0", "join", P50, "built-in", 2),
        ("Fig. 2", "Structured Streaming 2.4.1", "join", P50, "built-in", 582),
        ("Fig. 2", "Structured Streaming 2.4.1", "tumbling", "latency.latest.p99", "built-in", 4649),
        ("Fig. 2", "Structured Streaming 2.4.1", "tumbling", P50, "customised", 1277),
        ("Fig. 3", "Structured Streaming 2.4.1", "tumbling", "capacity.best", "built-in", 115_000),
        ("Fig. 3", "Flink 1.9.1", "tumbling", "capacity.best", "customised", 25_000),
        ("Fig. 4", "Structured Streaming 2.4.1", "tumbling", "burst.caught_up_s", "built-in", 53),
        ("Fig. 4", "Kafka Streams 2.1.0", "tumbling", "burst.caught_up_s", "built-in", 99),
    ],
)
def test_numbers_of_ospbench(
    exhibit: str, system: str, stage: str, metric: str, variant: Variant, value: float
) -> None:
    described = next(one for one in study("ospbench").exhibits if one.name == exhibit)
    marks = [
        mark
        for mark in described.marks
        if (mark.system, mark.metric, mark.dimensions) == (system, metric, dimensions(stage, variant))
    ]
    assert [mark.value for mark in marks] == [value]


def test_the_paper_gives_a_score_to_every_system_that_has_the_api() -> None:
    marks = study("ospbench").exhibits[1].marks
    assert len(marks) == 10 * 4 - 2
    assert {mark.value for mark in marks} == {1, 2, 3, 4}
    assert [mark.value for mark in marks if mark.system == "Flink 1.9.1"] == [4, 4, 4, 2, 4, 4, 2, 3, 4, 4]
    assert [mark.value for mark in marks if mark.system == "Structured Streaming 2.4.1"] == [
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
    added = {mark.dimensions["stage"]: mark.value for mark in marks if mark.metric == "added.latency.average.p50"}
    medians = {mark.dimensions["stage"]: mark.value for mark in marks if mark.metric == "latency.average.p50"}
    assert added == {"parse": 172, "join": 835, "tumbling": 558, "sliding": 488}
    assert medians == {"ingest": 292, "parse": 464, "join": 1298, "sliding": 2344}
    # The paper rounds each number separately.
    assert medians["ingest"] + sum(added.values()) == pytest.approx(medians["sliding"], abs=2)


@pytest.mark.parametrize("name", ["ospbench", "stage-latency"])
def test_the_papers_systems_map_to_engines(name: str) -> None:
    described = study(name)
    systems = {mark.system for exhibit in described.exhibits for mark in exhibit.marks}
    assert set(described.engines) <= systems
    tables = scenarios.describe(described.experiments[0].scenario).paper.engines
    assert set(described.engines.values()) <= set(tables)
    assert (described.runs.get("paper"), described.runs.get("laptop")) == (5, None)


def test_the_order_of_medians_is_that_of_the_papers_numbers() -> None:
    figure = next(exhibit for exhibit in study("ospbench").exhibits if exhibit.ranking)
    ranking = figure.ranking
    assert ranking is not None
    medians = {
        mark.system: mark.value
        for mark in figure.marks
        if (mark.metric, mark.dimensions) == (ranking.metric, ranking.dimensions)
    }
    assert max(medians[name] for name in ranking.lower) < min(medians[name] for name in ranking.higher)


def test_two_experiments_of_one_name_are_refused() -> None:
    def exhibit(*experiments: Experiment) -> Exhibit:
        return Exhibit("Fig. 1", "Something", lambda context: [], experiments)

    same, other = Experiment("a/b", "one", {"seed": "1"}), Experiment("a/b", "one", {"seed": "2"})
    assert Study("t", "s", "total", (exhibit(same), exhibit(same))).experiments == (same,)
    with pytest.raises(ValueError, match="several experiments are called one"):
        Study("t", "s", "total", (exhibit(same), exhibit(other)))


def test_reading_the_studies_does_not_import_the_drawing_code() -> None:
    """`list` and `plan` read every study."""
    heavy = "{'pyspark', 'plotly', 'pyarrow', 'jinja2', 'numpy'}"
    read = "from streamgauge import registry; [registry.study_description(name) for name in registry.names('studies')]"
    code = f"import sys; {read}; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
