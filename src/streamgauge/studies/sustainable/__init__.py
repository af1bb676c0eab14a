"""Karimov, Rabl, Katsifodimos, Samarev, Heiskanen & Markl, *Benchmarking Distributed Stream Data Processing Systems*,
ICDE 2018."""

from __future__ import annotations

from streamgauge.studies.sustainable import behaviour, broker, experiments, latency, numbers, stars, throughput
from streamgauge.study import Exhibit, Study

title = "Benchmarking Distributed Stream Data Processing Systems (Karimov et al., ICDE 2018)"

_AGGREGATION, _JOIN = experiments.PROGRAMS
_EVERYTHING = (
    *(one for program in experiments.PROGRAMS for one in experiments.CAPACITY[program]),
    *(one for program in experiments.PROGRAMS for one in experiments.LATENCY[program]),
    *experiments.SKEW,
    *experiments.FLUCTUATING,
    *experiments.LARGE_WINDOWS,
)

STUDY = Study(
    title=title,
    source="IEEE International Conference on Data Engineering, 2018",
    latency="total",
    exhibits=(
        Exhibit(
            "Table I",
            "Sustainable throughput of the windowed aggregation",
            throughput.by_cluster,
            experiments=experiments.CAPACITY[_AGGREGATION],
            marks=numbers.TABLE_1,
            note="The paper's clusters have 2, 4 and 8 nodes with 16 cores each; its Flink is limited by the network "
            "from 4 nodes on. A node is a Worker of Spark with its executor, or a TaskManager of Flink. In the laptop "
            "profile 1, 2 and 4 nodes share the cores of one machine with the generators: more of them bring little.",
        ),
        Exhibit(
            "Table II",
            "Latency of the windowed aggregation",
            latency.statistics,
            experiments=experiments.LATENCY[_AGGREGATION],
            marks=numbers.TABLE_2,
            note="At the rates of Table I and at 90 % of them. The paper's Spark has batches of 4 s, ours has 1 s.",
        ),
        Exhibit(
            "Fig. 4",
            "Latency of the windowed aggregation over time",
            latency.over_time,
            experiments=experiments.LATENCY[_AGGREGATION],
            note="A window ends every 4 s. A point is the results whose last purchase was in that second. A window has "
            "several points: the last purchase of a rare gem pack may be seconds before its end.",
        ),
        Exhibit(
            "Table III",
            "Sustainable throughput of the windowed join",
            throughput.by_cluster,
            experiments=experiments.CAPACITY[_JOIN],
            marks=(*numbers.TABLE_3, *numbers.NAIVE_JOIN),
            note="Purchases and ads together. The paper lowers the selectivity until the results are not the limit. It "
            "does not say to how much; here one purchase in a hundred has an ad.",
        ),
        Exhibit(
            "Table IV",
            "Latency of the windowed join",
            latency.statistics,
            experiments=experiments.LATENCY[_JOIN],
            marks=numbers.TABLE_4,
            note="At the rates of Table III and at 90 % of them.",
        ),
        Exhibit(
            "Fig. 5",
            "Latency of the windowed join over time",
            latency.over_time,
            experiments=experiments.LATENCY[_JOIN],
            note="A window ends every 4 s. A point is the results of one window, at the second of its last record.",
        ),
        Exhibit(
            "Experiment 3",
            "Large windows",
            throughput.by_evaluation,
            experiments=experiments.LARGE_WINDOWS,
            marks=numbers.LARGE_WINDOWS,
            note="The paper gives its findings in the text. Its Spark recomputes a window from the batches in it, or "
            "keeps a sum and subtracts the batches that leave the window (inverse reduce).",
        ),
        Exhibit(
            "Experiment 4",
            "Data skew: every record has the same key",
            throughput.by_cluster,
            experiments=experiments.SKEW,
            marks=numbers.SKEW,
            note="Aggregation. The paper gives its findings in the text, without the cluster for Flink and Storm. Of "
            "the join with one key, which is not run here, it reports that Flink often becomes unresponsive and "
            "that Spark has very high latencies.",
        ),
        Exhibit(
            "Fig. 6",
            "Fluctuating load",
            behaviour.fluctuating,
            experiments=experiments.FLUCTUATING,
            marks=numbers.FLUCTUATING,
            note="High, low, high, for a third of the time each, on the smallest cluster. The paper has the same load "
            "for all systems; here it is 90 % and 30 % of what each engine sustains.",
        ),
        Exhibit(
            "Fig. 7",
            "Event-time and processing-time latency of an overloaded system",
            behaviour.event_and_processing_time,
            experiments=experiments.OVERLOADED,
            note="Aggregation on the smallest cluster at 150 % of what the engine sustains. Spark takes at most as "
            "many records in a batch as it sustains in a second. The paper shows Spark.",
        ),
        Exhibit(
            "Fig. 8",
            "Event-time and processing-time latency at the sustainable throughput",
            behaviour.event_and_processing_time,
            experiments=experiments.MAXIMUM[_AGGREGATION][:1],
            note="Aggregation on the smallest cluster.",
            overview=True,
        ),
        Exhibit(
            "Experiment 7",
            "Backpressure in the queues",
            behaviour.backpressure,
            experiments=(*experiments.MAXIMUM[_AGGREGATION], *experiments.MAXIMUM[_JOIN]),
            note="At the sustainable throughput. The paper points at its figures of latency.",
            overview=True,
        ),
        Exhibit(
            "Fig. 9",
            "Throughput over time, at the queues",
            behaviour.throughput_over_time,
            experiments=tuple(
                one for one in experiments.LATENCY[_AGGREGATION] if one.dimensions["cluster"] == experiments.SIZES[0]
            ),
            note="Aggregation on the smallest cluster.",
            overview=True,
        ),
        Exhibit(
            "Fig. 10",
            "CPU and network of each node",
            behaviour.node_resources,
            experiments=experiments.MAXIMUM[_AGGREGATION][1:2],
            marks=numbers.NODES,
            note="Aggregation on the cluster of medium size, which has 4 nodes in the paper. Network: received and "
            "sent over TCP, on one machine over the loopback interface; not on macOS.",
            overview=True,
        ),
        Exhibit(
            "Fig. 11",
            "Scheduler delay and throughput in Spark",
            behaviour.scheduler_delay,
            experiments=(experiments.MAXIMUM[_AGGREGATION][0], *experiments.UNLIMITED),
            note="By what Spark reports: how much later than its trigger a batch began. Its batches follow one "
            "another, so one that takes longer than the interval delays the next. In both runs a batch takes all that "
            "waits. The paper's Spark limits its input by backpressure once batches are late; Structured Streaming "
            "does not.",
            overview=True,
        ),
        Exhibit(
            "Table V",
            "Ratings",
            stars.ratings,
            experiments=_EVERYTHING,
            marks=numbers.TABLE_5,
            note="The paper does not say how it gives its stars; here they follow a rule.",
            overview=True,
        ),
        Exhibit(
            "Broker",
            "What a broker costs",
            broker.broker,
            experiments=experiments.BROKER,
            note="Not in the paper, which leaves a broker out because it may be the limit.",
        ),
    ),
    scale={
        "nodes": "the paper has clusters of 2, 4 and 8 workers with 16 cores each and as many machines for generators; "
        "the laptop profile has 1, 2 and 4 workers with a task each, on the cores of one machine",
        "rates": "the paper generates up to 1.2 million records per second; here each engine gets a share of what it "
        "sustains",
        "duration": "a generator of the paper makes 100 million records; the laptop profile measures for 32 s at 100 "
        "and 90 % of the sustainable throughput, 36 s with a fluctuating load, 61 s with large windows, else 16 s",
        "search": "the laptop profile looks for the sustainable throughput to within 25 %, up to a million records/s: "
        "all records of a probe are checked",
    },
    # The paper measured Storm, and Spark with DStreams. Engine spark is Structured Streaming.
    engines={numbers.FLINK: "flink"},
    resolution={"laptop": 0.25},
)
