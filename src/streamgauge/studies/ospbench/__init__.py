"""van Dongen & Van den Poel, *Evaluation of Stream Processing Frameworks*, IEEE TPDS 31(8), 2020."""

from __future__ import annotations

from streamgauge.studies.configuration import configuration
from streamgauge.studies.ospbench import numbers
from streamgauge.studies.ospbench.bursts import periodic_burst, single_burst
from streamgauge.studies.ospbench.exhibits import latency_by_stage, rate_sweep
from streamgauge.studies.ospbench.numbers import FLINK, KAFKA_STREAMS, P50, SPARK_STREAMING, STRUCTURED
from streamgauge.studies.ospbench.scores import scores
from streamgauge.studies.stages import dimensions, experiment
from streamgauge.study import Exhibit, Ranking, Study

title = "Evaluation of Stream Processing Frameworks (van Dongen & Van den Poel, TPDS 2020)"

_LATENCY = (
    *(experiment("ospbench/latency", stage) for stage in ("ingest", "parse", "join", "tumbling", "sliding")),
    *(experiment("ospbench/latency", stage, "customised") for stage in ("join", "tumbling", "sliding")),
    *(experiment("ospbench/latency", stage, "real-time") for stage in ("ingest", "parse")),
)
_THROUGHPUT = experiment("ospbench/throughput", "tumbling", purpose="capacity")
_SINGLE_BURST = experiment("ospbench/single-burst", "tumbling")
_BURSTS_STATELESS = experiment("ospbench/periodic-burst", "parse")
_BURSTS = experiment("ospbench/periodic-burst", "tumbling")
_BURSTS_JOIN = experiment("ospbench/periodic-burst", "join")
_BURSTS_CUSTOMISED = experiment("ospbench/periodic-burst", "tumbling", "customised")

_ALL = (*_LATENCY, _THROUGHPUT, _SINGLE_BURST, _BURSTS_STATELESS, _BURSTS, _BURSTS_JOIN, _BURSTS_CUSTOMISED)

STUDY = Study(
    title=title,
    source="IEEE Transactions on Parallel and Distributed Systems 31(8), 2020",
    latency="latest",
    exhibits=(
        Exhibit("Table 1", "Configuration", configuration),
        Exhibit(
            "Table 2",
            "Scores per decision factor",
            scores,
            experiments=_ALL,
            marks=numbers.TABLE_2,
            note="The paper's scores compare its four systems with each other, ours the systems measured here.",
            overview=True,
        ),
        Exhibit(
            "Fig. 2",
            "Latency per stage",
            latency_by_stage,
            experiments=_LATENCY,
            marks=numbers.FIG_2,
            note="The paper has no real-time mode, no customised join and, on Structured Streaming, no built-in "
            "sliding window.",
            ranking=Ranking(
                P50,
                dimensions("ingest"),
                lower=(FLINK, KAFKA_STREAMS),
                higher=(SPARK_STREAMING, STRUCTURED),
                label="median latencies of ingest, event-driven below micro-batch",
            ),
        ),
        Exhibit(
            "Fig. 3",
            "Sustainable throughput of the tumbling window",
            rate_sweep,
            experiments=(_THROUGHPUT,),
            marks=numbers.FIG_3,
            note="The paper's rates are for 5 workers with 4 cores each. It considers a rate sustained only while the "
            "mean CPU usage stays below 80 %.",
        ),
        Exhibit(
            "Fig. 4",
            "A single burst before the start, tumbling window",
            single_burst,
            experiments=(_SINGLE_BURST,),
            marks=numbers.FIG_4,
            note="The paper's burst has about 1.8 million records. Times are in seconds since the engine started.",
        ),
        Exhibit(
            "Fig. 5",
            "Periodic bursts, tumbling window",
            periodic_burst,
            experiments=(_BURSTS,),
            marks=numbers.FIG_5,
            note="The paper's bursts have about 38,000 records each. Its latencies here are rounded to 0.1 s.",
        ),
        Exhibit("Fig. 6", "Periodic bursts, join", periodic_burst, experiments=(_BURSTS_JOIN,), marks=numbers.FIG_6),
        Exhibit(
            "Fig. 7",
            "Periodic bursts, customised tumbling window",
            periodic_burst,
            experiments=(_BURSTS_CUSTOMISED,),
            marks=numbers.FIG_7,
        ),
    ),
    scale={
        "duration": "the paper runs 30 minutes and discards the first 5; the laptop profile runs about a minute",
        "runs": "the paper takes the median of five runs; the laptop profile makes one by default",
        "machines": "the paper has 5 workers with 4 cores each, a multi-broker Kafka and HDFS; the laptop has 2 cores "
        "for everything",
        "bursts": "the single burst and the periodic ones are smaller",
    },
    engines={FLINK: "flink", KAFKA_STREAMS: "kafka-streams", STRUCTURED: "spark"},
    runs={"paper": 5},
)
