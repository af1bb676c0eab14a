"""Scripts whose queries end, fail, start late or lose records: what is counted, and what the user is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_orders import MEASURED_S, RATE, WARMUP_S, measure, write_orders

from streamgauge.errors import UsageError
from streamgauge.rundir import RunDir

pytestmark = [pytest.mark.engine("pyspark"), pytest.mark.full, pytest.mark.timeout(900)]

HEAD = """
from pyspark.sql import SparkSession, functions as f

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()

def topic(name):
    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "prod:9092")
    return kafka.option("subscribe", name).load().selectExpr("cast(value as string) value", "timestamp")

orders = topic("orders")
"""
JOIN = """
fields = "order_id long, price double"
one = orders.select(f.from_json("value", fields).alias("o"), "timestamp").select("o.*", "timestamp")
other = topic("refunds").select(f.from_json("value", fields).alias("r"), f.col("timestamp").alias("at"))
other = other.select(f.col("r.order_id").alias("refunded"), "at").withWatermark("at", "5 seconds")
one = one.withWatermark("timestamp", "5 seconds")
within = f.expr("order_id = refunded and at between timestamp - interval 5 seconds and timestamp + interval 5 seconds")
one.join(other, within).writeStream.format("memory").queryName("joined").start().awaitTermination()
"""
RAISES = """
@f.udf("string")
def risk(value):
    if '"order_id": 1000,' in value:
        raise ValueError("no risk class for order 1000")
    return value

orders.select(risk("value")).writeStream.format("console").queryName("risks").start().awaitTermination()
"""
RAISES_AT_ONCE = RAISES.replace("1000,", "").replace(" in value", " in value or True")
RETURNS = 'orders.writeStream.format("console").start()\n'
NEEDS_ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.parse_args()
"""
LATE = """
import time
orders.writeStream.format("memory").queryName("first").start()
time.sleep(9)
while not spark.table("first").count():
    time.sleep(0.2)
kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "prod:9092")
again = kafka.option("subscribe", "orders").option("startingOffsets", "earliest").load()
again.writeStream.format("memory").queryName("second").start()
spark.streams.awaitAnyTermination()
"""
ENDS_BY_ITSELF = """
before = orders.writeStream.format("memory").queryName("before").trigger(availableNow=True).start()
before.awaitTermination()
spark.range(3).write.mode("overwrite").parquet("/data/limits/day=1")
assert spark.read.parquet("/data/limits").count() == 3
assert spark.read.parquet("/data/limits/*").count() == 3
orders.writeStream.format("memory").queryName("main").start().awaitTermination()
"""
WITHOUT_CHECKPOINT = 'orders.writeStream.format("console").queryName("shown").start().awaitTermination()\n'


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orders(tmp_path_factory.mktemp("orders") / "orders.jsonl")


def script(tmp_path: Path, code: str) -> Path:
    (tmp_path / "job.py").write_text(HEAD + code)
    return tmp_path / "job.py"


def test_a_join_of_two_topics(orders: Path, tmp_path: Path) -> None:
    result = measure(script(tmp_path, JOIN), tmp_path / "runs", f"orders={orders}", f"refunds={orders}", warmup=25)
    assert result.verdict == "VALID", result.reasons
    [query] = result.summary.queries
    assert query.name == "joined" and query.records == RATE * MEASURED_S and not query.not_committed


@pytest.mark.parametrize("code", [RAISES, RAISES_AT_ONCE], ids=["later", "at once"])
def test_a_script_whose_function_raises_has_failed_with_its_error(orders: Path, tmp_path: Path, code: str) -> None:
    result = measure(script(tmp_path, code), tmp_path / "runs", f"orders={orders}")
    assert result.verdict == "FAILED"
    [reason, *_] = result.reasons
    assert "ValueError: no risk class for order 1000" in reason and "watcher" not in reason
    assert RunDir(result.directory).summary_path.exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (RETURNS, ("the script ended while its queries were to run", "awaitTermination()")),
        (NEEDS_ARGUMENTS, ("ended before it started a streaming query", "are required: --out", "-- ARGUMENTS")),
    ],
)
def test_a_script_that_ends_is_told_why(orders: Path, tmp_path: Path, code: str, said: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        measure(script(tmp_path, code), tmp_path / "runs", f"orders={orders}")
    message = caught.value.message()
    assert all(words in message for words in said), message
    assert "\\n" not in message


def test_a_query_that_starts_late_counts_nothing_twice(orders: Path, tmp_path: Path) -> None:
    result = measure(script(tmp_path, LATE), tmp_path / "runs", f"orders={orders}", warmup=25)
    assert result.verdict == "VALID", result.reasons
    assert {query.name for query in result.summary.queries} == {"first", "second"}
    results = result.summary.results
    assert (results["duplicates"], results["lost"], results["unfinished"]) == (0, 0, 0)


def test_a_query_that_ends_by_itself_holds_nothing_up(orders: Path, tmp_path: Path) -> None:
    result = measure(script(tmp_path, ENDS_BY_ITSELF), tmp_path / "runs", f"orders={orders}", warmup=20)
    assert result.verdict == "VALID", result.reasons
    assert result.summary.results["matched"] == result.summary.results["expected"]
    assert not Path("/data/limits").exists()


def test_a_restart_without_a_checkpoint_loses_what_came_meanwhile(orders: Path, tmp_path: Path) -> None:
    """As in production: Spark makes a new temporary checkpoint, and begins at the latest offset."""
    result = measure(
        script(tmp_path, WITHOUT_CHECKPOINT),
        tmp_path / "runs",
        f"orders={orders}",
        duration=25,
        faults=["kill driver for 3s at 3s"],
        settings={"quiet_s": 3},
    )
    missing = result.summary.results["lost"] + result.summary.results["unfinished"]
    assert missing >= 3 * RATE and result.summary.results["matched"] >= WARMUP_S * RATE
