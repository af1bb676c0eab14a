"""van Dongen & Van den Poel, *Evaluation of Stream Processing Frameworks*, IEEE TPDS 31(8), 2020."""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.studies.description import Exhibit, Experiment, Mark, Ranking, Study, Variant

title = "Evaluation of Stream Processing Frameworks (van Dongen & Van den Poel, TPDS 2020)"

FLINK = "Flink 1.9.1"
KAFKA_STREAMS = "Kafka Streams 2.1.0"
SPARK_STREAMING = "Spark Streaming 2.4.1"
STRUCTURED = "Structured Streaming 2.4.1"

MEDIAN = "median latency"
P99 = "p99 latency"


def _marks(
    engine: str, rows: Iterable[tuple[str, float, str]], unit: str = "ms", variant: Variant = "built-in"
) -> tuple[Mark, ...]:
    """Marks of one engine: stage, value, what it is."""
    return tuple(Mark(engine, stage, value, unit, what, variant) for stage, value, what in rows)


def _scores(what: str, flink: int, kafka_streams: int, spark_streaming: int | None, structured: int) -> list[Mark]:
    """A row of the paper's Table 2; None where it has no score."""
    scores = {FLINK: flink, KAFKA_STREAMS: kafka_streams, SPARK_STREAMING: spark_streaming, STRUCTURED: structured}
    return [Mark(engine, "", score, "score", what) for engine, score in scores.items() if score is not None]


_LATENCY = (
    *(Experiment("ospbench/latency", stage) for stage in ("ingest", "parse", "join", "tumbling", "sliding")),
    *(Experiment("ospbench/latency", stage, "customised") for stage in ("join", "tumbling", "sliding")),
    *(Experiment("ospbench/latency", stage, "real-time") for stage in ("ingest", "parse")),
)
_THROUGHPUT = Experiment("ospbench/throughput", "tumbling", purpose="capacity")
_SINGLE_BURST = Experiment("ospbench/single-burst", "tumbling")
_BURSTS_STATELESS = Experiment("ospbench/periodic-burst", "parse")
_BURSTS = Experiment("ospbench/periodic-burst", "tumbling")
_BURSTS_JOIN = Experiment("ospbench/periodic-burst", "join")
_BURSTS_CUSTOMISED = Experiment("ospbench/periodic-burst", "tumbling", "customised")

_ALL = (*_LATENCY, _THROUGHPUT, _SINGLE_BURST, _BURSTS_STATELESS, _BURSTS, _BURSTS_JOIN, _BURSTS_CUSTOMISED)

_TABLE_2_MARKS = (
    *_scores("latency: stateless stages", 4, 4, 1, 1),
    *_scores("latency: built-in stateful API", 4, 3, 4, 1),
    *_scores("latency: customised stateful API", 4, 4, None, 2),
    *_scores("sustainable throughput: unconstrained latency", 2, 1, 3, 4),
    *_scores("sustainable throughput: constrained latency", 4, 3, 2, 1),
    *_scores("single burst: initial output", 4, 3, 1, 2),
    *_scores("single burst: processing time", 2, 1, 2, 4),
    *_scores("periodic burst: stateless stages", 3, 3, 1, 4),
    *_scores("periodic burst: built-in stateful API", 4, 1, 3, 1),
    *_scores("periodic burst: customised stateful API", 4, 4, None, 2),
)

_FIG_2_MARKS = (
    *_marks(
        FLINK,
        [
            ("ingest", 0, MEDIAN),
            ("ingest", 2, f"{P99}, at most"),
            ("parse", 1, MEDIAN),
            ("parse", 2, P99),
            ("join", 1, MEDIAN),
            ("join", 3, f"{P99}, below"),
        ],
    ),
    *_marks(
        FLINK,
        [("tumbling", 1, MEDIAN), ("tumbling", 5, P99), ("sliding", 1, MEDIAN), ("sliding", 215, P99)],
        variant="customised",
    ),
    *_marks(
        KAFKA_STREAMS,
        [
            ("ingest", 0, MEDIAN),
            ("ingest", 2, f"{P99}, at most"),
            ("parse", 1, MEDIAN),
            ("parse", 7, P99),
            ("join", 2, MEDIAN),
            ("join", 30, P99),
            ("join", 218, "p99.999 latency"),
        ],
    ),
    *_marks(
        SPARK_STREAMING,
        [
            ("ingest", 140, MEDIAN),
            ("ingest", 316, P99),
            ("parse", 150, MEDIAN),
            ("parse", 350, P99),
            ("join", 650, MEDIAN),
            ("join", 170, "shortest latency, about"),
            ("join", 1140, "longest latency, about"),
            ("tumbling", 667, MEDIAN),
            ("sliding", 765, MEDIAN),
        ],
    ),
    *_marks(
        STRUCTURED,
        [
            ("ingest", 105, MEDIAN),
            ("parse", 148, MEDIAN),
            ("parse", 930, "longest latency of the stateless stages"),
            ("join", 582, MEDIAN),
            ("join", 1400, f"{P99}, above"),
            ("tumbling", 2807, MEDIAN),
            ("tumbling", 4649, P99),
        ],
    ),
    *_marks(
        STRUCTURED,
        [("tumbling", 1277, MEDIAN), ("sliding", 1704, MEDIAN), ("sliding", 3700, "longest latency, about")],
        variant="customised",
    ),
)

_RATE = "sustainable rate"
_FIG_3_MARKS = (
    *_marks(FLINK, [("tumbling", 26_000, _RATE), ("tumbling", 30_000, "highest rate, CPU above 95 %")], "records/s"),
    *_marks(FLINK, [("tumbling", 25_000, _RATE)], "records/s", "customised"),
    *_marks(KAFKA_STREAMS, [("tumbling", 18_500, _RATE)], "records/s"),
    *_marks(KAFKA_STREAMS, [("tumbling", 20_000, _RATE)], "records/s", "customised"),
    *_marks(SPARK_STREAMING, [("tumbling", 20_000, f"{_RATE}, batches of 1 s")], "records/s"),
    *_marks(SPARK_STREAMING, [("tumbling", 26_000, f"{_RATE}, batches of 3 s")], "records/s"),
    *_marks(SPARK_STREAMING, [("tumbling", 30_000, f"{_RATE}, batches of 5 s")], "records/s"),
    *_marks(STRUCTURED, [("tumbling", 115_000, _RATE)], "records/s"),
    *_marks(KAFKA_STREAMS, [("tumbling", 700, f"{MEDIAN} at all sustainable rates, about")]),
    *_marks(STRUCTURED, [("tumbling", 50, "CPU at the sustainable rate")], "%"),
    *_marks(KAFKA_STREAMS, [("tumbling", 83, "CPU at the sustainable rate")], "%"),
)

_FIRST, _CAUGHT_UP = "first output", "caught up"
_FIG_4_MARKS = (
    *_marks(FLINK, [("tumbling", 16, _FIRST), ("tumbling", 81, _CAUGHT_UP)], "s"),
    *_marks(KAFKA_STREAMS, [("tumbling", 16, _FIRST), ("tumbling", 99, _CAUGHT_UP)], "s"),
    *_marks(SPARK_STREAMING, [("tumbling", 60, f"{_FIRST}, later than"), ("tumbling", 76, _CAUGHT_UP)], "s"),
    *_marks(STRUCTURED, [("tumbling", 44, _FIRST), ("tumbling", 53, _CAUGHT_UP)], "s"),
    *_marks(STRUCTURED, [("tumbling", 229_000, "highest output rate")], "records/s", "customised"),
)

_BEFORE, _AFTER = f"{MEDIAN} between bursts", f"{MEDIAN} after a burst"
_INPUTS = "inputs per result"
_FIG_5_MARKS = (
    *_marks(FLINK, [("tumbling", 800, _BEFORE), ("tumbling", 1250, _AFTER), ("tumbling", 1500, f"{P99}, below")]),
    *_marks(KAFKA_STREAMS, [("tumbling", 2800, f"{P99} after a burst, up to")]),
    *_marks(
        SPARK_STREAMING,
        [("tumbling", 700, _BEFORE), ("tumbling", 1370, f"{_AFTER}, at first"), ("tumbling", 2050, f"{_AFTER}, peak")],
    ),
    *_marks(SPARK_STREAMING, [("tumbling", 3, "time at elevated latency, at most")], "s"),
    *_marks(
        STRUCTURED, [("tumbling", 3000, f"{MEDIAN}, at its lowest"), ("tumbling", 4500, f"{MEDIAN}, at its highest")]
    ),
    *_marks("all engines", [("tumbling", 3.17, _INPUTS)], "records"),
)
_FIG_6_MARKS = _marks("all engines", [("join", 2, _INPUTS)], "records")
_FIG_7_MARKS = (
    *_marks(FLINK, [("tumbling", 1200, f"{P99} after a burst")], variant="customised"),
    *_marks(STRUCTURED, [("tumbling", 2000, f"{MEDIAN}, below")], variant="customised"),
)

STUDY = Study(
    title=title,
    source="IEEE Transactions on Parallel and Distributed Systems 31(8), 2020",
    latency="latest",
    exhibits=(
        Exhibit("Table 1", "Configuration", "configuration"),
        Exhibit(
            "Table 2",
            "Scores per decision factor",
            "scores",
            experiments=_ALL,
            marks=_TABLE_2_MARKS,
            note="The paper's scores compare its four systems with each other, ours those measured here.",
        ),
        Exhibit(
            "Fig. 2",
            "Latency per stage",
            "latency-by-stage",
            experiments=_LATENCY,
            marks=_FIG_2_MARKS,
            note="The paper has no real-time mode, no customised join and, on Structured Streaming, no built-in "
            "sliding window.",
            ranking=Ranking(
                "ingest",
                lower=(FLINK, KAFKA_STREAMS),
                higher=(SPARK_STREAMING, STRUCTURED),
                words="event-driven below micro-batch",
            ),
        ),
        Exhibit(
            "Fig. 3",
            "Sustainable throughput of the tumbling window",
            "rate-sweep",
            experiments=(_THROUGHPUT,),
            marks=_FIG_3_MARKS,
            note="The paper's rates were reached on 5 workers with 4 cores each. It calls a rate sustained only while "
            "the mean CPU stays below 80 %.",
        ),
        Exhibit(
            "Fig. 4",
            "A single burst before the start, tumbling window",
            "single-burst",
            experiments=(_SINGLE_BURST,),
            marks=_FIG_4_MARKS,
            note="The paper's burst has about 1.8 million records. Seconds count from the start of the engine.",
        ),
        Exhibit(
            "Fig. 5",
            "Periodic bursts, tumbling window",
            "periodic-burst",
            experiments=(_BURSTS,),
            marks=_FIG_5_MARKS,
            note="The paper's bursts have about 38,000 records each. Its latencies are exact to 0.1 s here.",
        ),
        Exhibit("Fig. 6", "Periodic bursts, join", "periodic-burst", experiments=(_BURSTS_JOIN,), marks=_FIG_6_MARKS),
        Exhibit(
            "Fig. 7",
            "Periodic bursts, customised tumbling window",
            "periodic-burst",
            experiments=(_BURSTS_CUSTOMISED,),
            marks=_FIG_7_MARKS,
        ),
    ),
    scale={
        "duration": "the paper runs 30 minutes and leaves out the first 5; the laptop profile about a minute",
        "runs": "the paper takes the median of five runs; the laptop profile makes one, unless more are asked for",
        "machines": "the paper has 5 workers with 4 cores each, a multi-broker Kafka and HDFS; the laptop has 2 cores "
        "for everything",
        "bursts": "the single burst and the periodic ones are smaller",
    },
    engines={FLINK: "flink", KAFKA_STREAMS: "kafka-streams", STRUCTURED: "spark"},
    runs={"paper": 5},
)
