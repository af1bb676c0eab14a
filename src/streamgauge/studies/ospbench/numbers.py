"""The numbers in the paper, each with the metric by which the exhibits find it."""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.report.reproduction import CAPACITY
from streamgauge.studies.stages import Variant, dimensions
from streamgauge.study import Mark

FLINK = "Flink 1.9.1"
KAFKA_STREAMS = "Kafka Streams 2.1.0"
SPARK_STREAMING = "Spark Streaming 2.4.1"
STRUCTURED = "Structured Streaming 2.4.1"

P50, P99 = "latency.latest.p50", "latency.latest.p99"
P99999, SHORTEST, LONGEST = "latency.latest.p99999", "latency.latest.min", "latency.latest.max"
MEDIAN_LABEL, P99_LABEL = "median latency", "p99 latency"


def _marks(
    system: str, rows: Iterable[tuple[str, str, float, str]], unit: str = "ms", variant: Variant = "built-in"
) -> tuple[Mark, ...]:
    """Marks of one system from (stage, metric, value, label)."""
    return tuple(
        Mark(system, metric, value, unit, label, dimensions(stage, variant)) for stage, metric, value, label in rows
    )


def _scores(
    metric: str, flink: int, kafka_streams: int, spark_streaming: int | None, structured: int
) -> tuple[Mark, ...]:
    """A row of the paper's Table 2; None for no score."""
    scores = {FLINK: flink, KAFKA_STREAMS: kafka_streams, SPARK_STREAMING: spark_streaming, STRUCTURED: structured}
    return tuple(
        Mark(system, f"score.{metric}", value, "score", metric) for system, value in scores.items() if value is not None
    )


TABLE_2 = (
    *_scores("latency.stateless", 4, 4, 1, 1),
    *_scores("latency.built-in", 4, 3, 4, 1),
    *_scores("latency.customised", 4, 4, None, 2),
    *_scores("throughput.unconstrained", 2, 1, 3, 4),
    *_scores("throughput.constrained", 4, 3, 2, 1),
    *_scores("single-burst.first-output", 4, 3, 1, 2),
    *_scores("single-burst.caught-up", 2, 1, 2, 4),
    *_scores("periodic-burst.stateless", 3, 3, 1, 4),
    *_scores("periodic-burst.built-in", 4, 1, 3, 1),
    *_scores("periodic-burst.customised", 4, 4, None, 2),
)

FIG_2 = (
    *_marks(
        FLINK,
        [
            ("ingest", P50, 0, MEDIAN_LABEL),
            ("ingest", P99, 2, f"{P99_LABEL}, at most"),
            ("parse", P50, 1, MEDIAN_LABEL),
            ("parse", P99, 2, P99_LABEL),
            ("join", P50, 1, MEDIAN_LABEL),
            ("join", P99, 3, f"{P99_LABEL}, below"),
        ],
    ),
    *_marks(
        FLINK,
        [
            ("tumbling", P50, 1, MEDIAN_LABEL),
            ("tumbling", P99, 5, P99_LABEL),
            ("sliding", P50, 1, MEDIAN_LABEL),
            ("sliding", P99, 215, P99_LABEL),
        ],
        variant="customised",
    ),
    *_marks(
        KAFKA_STREAMS,
        [
            ("ingest", P50, 0, MEDIAN_LABEL),
            ("ingest", P99, 2, f"{P99_LABEL}, at most"),
            ("parse", P50, 1, MEDIAN_LABEL),
            ("parse", P99, 7, P99_LABEL),
            ("join", P50, 2, MEDIAN_LABEL),
            ("join", P99, 30, P99_LABEL),
            ("join", P99999, 218, "p99.999 latency"),
        ],
    ),
    *_marks(
        SPARK_STREAMING,
        [
            ("ingest", P50, 140, MEDIAN_LABEL),
            ("ingest", P99, 316, P99_LABEL),
            ("parse", P50, 150, MEDIAN_LABEL),
            ("parse", P99, 350, P99_LABEL),
            ("join", P50, 650, MEDIAN_LABEL),
            ("join", SHORTEST, 170, "shortest latency, about"),
            ("join", LONGEST, 1140, "longest latency, about"),
            ("tumbling", P50, 667, MEDIAN_LABEL),
            ("sliding", P50, 765, MEDIAN_LABEL),
        ],
    ),
    *_marks(
        STRUCTURED,
        [
            ("ingest", P50, 105, MEDIAN_LABEL),
            ("parse", P50, 148, MEDIAN_LABEL),
            ("parse", LONGEST, 930, "longest latency of the stateless stages"),
            ("join", P50, 582, MEDIAN_LABEL),
            ("join", P99, 1400, f"{P99_LABEL}, above"),
            ("tumbling", P50, 2807, MEDIAN_LABEL),
            ("tumbling", P99, 4649, P99_LABEL),
        ],
    ),
    *_marks(
        STRUCTURED,
        [
            ("tumbling", P50, 1277, MEDIAN_LABEL),
            ("sliding", P50, 1704, MEDIAN_LABEL),
            ("sliding", LONGEST, 3700, "longest latency, about"),
        ],
        variant="customised",
    ),
)

_RATE = "sustainable rate"
_CPU = "resources.engine.cpu_percent"
FIG_3 = (
    *_marks(
        FLINK,
        [
            ("tumbling", CAPACITY, 26_000, _RATE),
            ("tumbling", "capacity.highest", 30_000, "highest rate, CPU above 95 %"),
        ],
        "records/s",
    ),
    *_marks(FLINK, [("tumbling", CAPACITY, 25_000, _RATE)], "records/s", "customised"),
    *_marks(KAFKA_STREAMS, [("tumbling", CAPACITY, 18_500, _RATE)], "records/s"),
    *_marks(KAFKA_STREAMS, [("tumbling", CAPACITY, 20_000, _RATE)], "records/s", "customised"),
    *_marks(
        SPARK_STREAMING,
        [
            ("tumbling", CAPACITY, 20_000, f"{_RATE}, batches of 1 s"),
            ("tumbling", CAPACITY, 26_000, f"{_RATE}, batches of 3 s"),
            ("tumbling", CAPACITY, 30_000, f"{_RATE}, batches of 5 s"),
        ],
        "records/s",
    ),
    *_marks(STRUCTURED, [("tumbling", CAPACITY, 115_000, _RATE)], "records/s"),
    *_marks(KAFKA_STREAMS, [("tumbling", P50, 700, f"{MEDIAN_LABEL} at all sustainable rates, about")]),
    *_marks(STRUCTURED, [("tumbling", _CPU, 50, "CPU at the sustainable rate")], "%"),
    *_marks(KAFKA_STREAMS, [("tumbling", _CPU, 83, "CPU at the sustainable rate")], "%"),
)

FIRST_OUTPUT, CAUGHT_UP = "burst.first_output_s", "burst.caught_up_s"
_FIRST_LABEL, _CAUGHT_UP_LABEL = "first output", "caught up"


def _catching_up(system: str, first_s: float, caught_up_s: float, limit: str = "") -> tuple[Mark, ...]:
    rows = [
        ("tumbling", FIRST_OUTPUT, first_s, f"{_FIRST_LABEL}{limit}"),
        ("tumbling", CAUGHT_UP, caught_up_s, _CAUGHT_UP_LABEL),
    ]
    return _marks(system, rows, "s")


FIG_4 = (
    *_catching_up(FLINK, 16, 81),
    *_catching_up(KAFKA_STREAMS, 16, 99),
    *_catching_up(SPARK_STREAMING, 60, 76, ", later than"),
    *_catching_up(STRUCTURED, 44, 53),
    *_marks(STRUCTURED, [("tumbling", "rate.output.max", 229_000, "highest output rate")], "records/s", "customised"),
)

_BEFORE, _AFTER, _P99_AFTER = "burst.p50_before_ms", "burst.p50_peak_ms", "burst.p99_peak_ms"
_BEFORE_LABEL, _AFTER_LABEL = f"{MEDIAN_LABEL} between bursts", f"{MEDIAN_LABEL} after a burst"
_INPUTS, _INPUTS_LABEL = "results.inputs_per_result", "inputs per result"
FIG_5 = (
    *_marks(
        FLINK,
        [
            ("tumbling", _BEFORE, 800, _BEFORE_LABEL),
            ("tumbling", _AFTER, 1250, _AFTER_LABEL),
            ("tumbling", P99, 1500, f"{P99_LABEL}, below"),
        ],
    ),
    *_marks(KAFKA_STREAMS, [("tumbling", _P99_AFTER, 2800, f"{P99_LABEL} after a burst, up to")]),
    *_marks(
        SPARK_STREAMING,
        [
            ("tumbling", _BEFORE, 700, _BEFORE_LABEL),
            ("tumbling", _AFTER, 1370, f"{_AFTER_LABEL}, at first"),
            ("tumbling", _AFTER, 2050, f"{_AFTER_LABEL}, peak"),
        ],
    ),
    *_marks(SPARK_STREAMING, [("tumbling", "burst.elevated_s", 3, "time at elevated latency, at most")], "s"),
    *_marks(
        STRUCTURED,
        [
            ("tumbling", P50, 3000, f"{MEDIAN_LABEL}, at its lowest"),
            ("tumbling", P50, 4500, f"{MEDIAN_LABEL}, at its highest"),
        ],
    ),
    *_marks("all engines", [("tumbling", _INPUTS, 3.17, _INPUTS_LABEL)], "records"),
)
FIG_6 = _marks("all engines", [("join", _INPUTS, 2, _INPUTS_LABEL)], "records")
FIG_7 = (
    *_marks(FLINK, [("tumbling", _P99_AFTER, 1200, f"{P99_LABEL} after a burst")], variant="customised"),
    *_marks(STRUCTURED, [("tumbling", P50, 2000, f"{MEDIAN_LABEL}, below")], variant="customised"),
)
