"""A process of each engine is killed while it counts words: nothing is lost, and what is published again is counted."""

from __future__ import annotations

import pytest
from driving import Measure

pytestmark = pytest.mark.full

SPARK = {"cluster": "standalone", "workers": 2, "warmup_s": 20, "drain_deadline_s": 180}
FLINK = {"taskmanagers": 2, "slots": 1, "spare": 1, "checkpoint_ms": 1000}
KAFKA_STREAMS = {"instances": 2, "delivery": "exactly-once"}


@pytest.mark.parametrize(
    ("engine", "fault", "options"),
    [
        pytest.param("spark", "kill worker-1", SPARK, marks=pytest.mark.engine("spark")),
        pytest.param("spark", "kill executor-1", SPARK, marks=pytest.mark.engine("spark")),
        pytest.param("spark", "kill driver for 1s", SPARK, marks=pytest.mark.engine("spark")),
        pytest.param("flink", "kill taskmanager-1", FLINK, marks=pytest.mark.engine("flink")),
        pytest.param("kafka-streams", "kill streams-1", KAFKA_STREAMS, marks=pytest.mark.engine("kafka-streams")),
    ],
)
def test_no_word_is_lost(measure: Measure, engine: str, fault: str, options: dict[str, object]) -> None:
    _, summary = measure(
        engine,
        name="streambench/latency",
        faults=(f"{fault} at 40%",),
        choice="wordcount",
        measured_s=25,
        **options,
    )
    assert summary.verdict == "VALID", summary.reasons
    assert summary.faults[0].took_effect
    results = summary.results
    assert results["matched"] == results["expected"] > 0
    again = f"{results['duplicates']:,} duplicates" if results["duplicates"] else "nothing duplicated"
    assert summary.guarantee == f"nothing lost, {again}"


@pytest.mark.engine("kafka-streams")
def test_a_cut_between_engine_and_broker_shows_in_outage_and_recovery(measure: Measure) -> None:
    _, summary = measure(
        "kafka-streams",
        name="streambench/latency",
        faults=("cut streams-1 from broker for 5s at 40%",),
        choice="identity",
        own_broker=True,
        measured_s=30,
    )
    assert summary.verdict == "VALID", summary.reasons
    (fault,) = summary.faults
    assert fault.took_effect
    assert fault.outage_s is not None and fault.outage_s >= 5
    assert summary.results["lost"] == summary.results["unfinished"] == 0
