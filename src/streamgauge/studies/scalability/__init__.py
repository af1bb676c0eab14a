"""Ehrenstein, *Scalability Benchmarking of Kafka Streams Applications*, 2020."""

from __future__ import annotations

from streamgauge.report.reproduction import CAPACITY
from streamgauge.studies.scalability.exhibits import by_instances
from streamgauge.studies.scalability.experiments import AXES, experiments
from streamgauge.study import Exhibit, Mark, Study

title = "Scalability Benchmarking of Kafka Streams Applications (Ehrenstein, 2020)"

KAFKA_STREAMS = "Kafka Streams"
_SINK, _HIERARCHY, _WINDOWS, _OVERLAPPING = AXES
_FIG_5 = {1: 2**13, 2: 2**13, 4: 2**15, 8: 2**16}

STUDY = Study(
    title=title,
    source="Kiel University, 2020",
    latency="total",
    exhibits=(
        Exhibit(
            "Fig. 5",
            "Sustainable throughput of the sink against the number of instances",
            by_instances,
            experiments=experiments(_SINK),
            marks=tuple(
                Mark(
                    KAFKA_STREAMS,
                    CAPACITY,
                    value,
                    "records/s",
                    "sustained (section 4.3)",
                    {"topology": _SINK, "instances": str(instances)},
                )
                for instances, value in _FIG_5.items()
            ),
            note="The paper doubles the load from one experiment to the next, so its points are powers of two, and it "
            "has none for 16 instances: its generator did not send 2^17 records/s. Its line is the linear regression "
            "through its four points, computed here.",
        ),
        *(
            Exhibit(name, words, by_instances, experiments=experiments(topology), note=note)
            for name, words, topology, note in (
                (
                    "Benchmark 2",
                    "Highest tree of sensors that is sustained",
                    _HIERARCHY,
                    "Defined in sections 3.2 and 3.7 of the paper, which does not measure it. Each level has ten times "
                    "as many sensors as the one above, and each sensor sends one record per second.",
                ),
                (
                    "Benchmark 3",
                    "Sustainable throughput of windows that do not overlap",
                    _WINDOWS,
                    "Defined in sections 3.2 and 3.7 of the paper, which does not measure it.",
                ),
                (
                    "Benchmark 4",
                    "Smallest period of overlapping windows that is sustained",
                    _OVERLAPPING,
                    "Defined in sections 3.2 and 3.7 of the paper, which does not measure it. A shorter period opens "
                    "more windows: less is harder, so a line that falls shows that more instances help.",
                ),
            )
        ),
    ),
    scale={
        "instances": "the paper has 1 to 16; here 1, 2 and 4 share the cores of one machine with broker and load, and "
        "more run only where each has a core",
        "duration": "60 s after 20 s of warm-up instead of 360 s after 180 s",
        "windows": "10 s instead of a minute, so that several end in each half minute",
        "steps": "the paper doubles the load; here each answer is narrowed down to 50 % (25 % in the paper profile)",
    },
    engines={KAFKA_STREAMS: "kafka-streams"},
    default_engine="kafka-streams",
    resolution={"laptop": 0.5, "paper": 0.25},
)
