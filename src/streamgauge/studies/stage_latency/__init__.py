"""van Dongen, Steurtewagen & Van den Poel, *Latency measurement of fine-grained operations in benchmarking distributed
stream processing frameworks*, IEEE BigData Congress 2018."""

from __future__ import annotations

from streamgauge.studies.stage_latency.exhibits import ADDED, MEDIAN, stage_cost
from streamgauge.studies.stages import VARIANT_SETTINGS, dimensions, experiment
from streamgauge.study import Exhibit, Mark, Study

title = (
    "Latency measurement of fine-grained operations (van Dongen, Steurtewagen & Van den Poel, BigData Congress 2018)"
)

FLINK = "Flink"
"""The paper gives no version."""

_MEDIAN_LABEL, _ADDED_LABEL = "median latency", "added median latency"
_TAIL, _TAIL_LABEL = "latency.average.p95-p75", "p95 − p75"
_MARKS = tuple(
    Mark(FLINK, metric, value, "ms", label, dimensions(stage))
    for stage, metric, value, label in (
        ("ingest", MEDIAN, 292, _MEDIAN_LABEL),
        ("parse", MEDIAN, 464, _MEDIAN_LABEL),
        ("parse", ADDED, 172, _ADDED_LABEL),
        ("parse", _TAIL, 81, _TAIL_LABEL),
        ("join", MEDIAN, 1298, _MEDIAN_LABEL),
        ("join", ADDED, 835, _ADDED_LABEL),
        ("join", _TAIL, 279, _TAIL_LABEL),
        ("tumbling", ADDED, 558, _ADDED_LABEL),
        ("sliding", MEDIAN, 2344, _MEDIAN_LABEL),
        ("sliding", ADDED, 488, _ADDED_LABEL),
        ("sliding", "latency.average.p5", 1121, "p5 latency"),
        ("sliding", "latency.average.p95", 3397, "p95 latency"),
    )
)

STUDY = Study(
    title=title,
    source="IEEE International Congress on Big Data, 2018",
    latency="average",
    exhibits=(
        Exhibit(
            "Fig. 3",
            "Cumulative latency after each stage, and what each stage adds",
            stage_cost,
            experiments=tuple(
                experiment("stage-latency/stages", stage)
                for stage in ("ingest", "parse", "join", "tumbling", "sliding")
            ),
            marks=_MARKS,
            note="The paper measured Flink on 10 task managers with 12 cores each, at 26,000 records/s.",
        ),
    ),
    scale={
        "rate": "the paper sends 26,000 records/s; the laptop profile a rate that two cores sustain at every stage",
        "machines": "the paper has 10 task managers with 12 cores each and 5 brokers, one of them leading",
        "runs": "the paper does not state the number of runs; its profile makes five, like its successor (ospbench), "
        "the laptop profile one by default",
    },
    engines={FLINK: "flink"},
    runs={"paper": 5},
    fixed=VARIANT_SETTINGS,
)
