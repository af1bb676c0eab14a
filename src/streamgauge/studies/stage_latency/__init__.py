"""van Dongen, Steurtewagen & Van den Poel, *Latency measurement of fine-grained operations in benchmarking distributed
stream processing frameworks*, IEEE BigData Congress 2018."""

from __future__ import annotations

from streamgauge.studies.description import Exhibit, Experiment, Mark, Study

title = (
    "Latency measurement of fine-grained operations (van Dongen, Steurtewagen & Van den Poel, BigData Congress 2018)"
)

FLINK = "Flink"
"""The paper names no version."""

_MEDIAN, _ADDED = "median latency", "added median latency"
_MARKS = tuple(
    Mark(FLINK, stage, value, "ms", what)
    for stage, value, what in (
        ("ingest", 292, _MEDIAN),
        ("parse", 464, _MEDIAN),
        ("parse", 172, _ADDED),
        ("parse", 81, "p95 − p75"),
        ("join", 1298, _MEDIAN),
        ("join", 835, _ADDED),
        ("join", 279, "p95 − p75"),
        ("tumbling", 558, _ADDED),
        ("sliding", 2344, _MEDIAN),
        ("sliding", 488, _ADDED),
        ("sliding", 1121, "p5 latency"),
        ("sliding", 3397, "p95 latency"),
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
            "stage-cost",
            experiments=tuple(
                Experiment("stage-latency/stages", stage)
                for stage in ("ingest", "parse", "join", "tumbling", "sliding")
            ),
            marks=_MARKS,
            note="The paper measured Flink on 10 task managers with 12 cores each, at 26,000 records/s.",
        ),
    ),
    scale={
        "rate": "the paper sends 26,000 records/s; the laptop profile a rate that two cores carry at every stage",
        "machines": "the paper has 10 task managers with 12 cores each and 5 brokers, one of them leading",
        "runs": "the paper does not say how many it made; its profile makes five, as its successor (ospbench) did, the "
        "laptop profile one, unless more are asked for",
    },
    engines={FLINK: "flink"},
    runs={"paper": 5},
)
