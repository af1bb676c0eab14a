"""PySpark scripts that know nothing of streamgauge: measured by their checkpoints, fenced, and told what is wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from own_orders import MEASURED_S, RATE, measure, write_orders

import streamgauge
from streamgauge.errors import UsageError
from streamgauge.model.samples import CommitSample
from streamgauge.rundir import RunDir

pytestmark = [pytest.mark.engine("pyspark"), pytest.mark.timeout(600)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "scripts"

REFERENCE = """
from pyspark.sql import functions as f

key = ["order_id"]

def reference(inputs):
    order = f.from_json("value", "order_id long, price double, country string").alias("order")
    return inputs["orders"].select("n_seq", order).where("order.price >= 100").select("n_seq", "order.*")
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orders(tmp_path_factory.mktemp("orders") / "orders.jsonl")


def test_a_filter_is_checked_at_its_topic_and_timed_by_its_checkpoint(orders: Path, tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text(REFERENCE)
    result = measure(
        EXAMPLES / "large_orders.py",
        tmp_path / "runs",
        f"orders={orders},key=order_id",
        output="large-orders",
        reference=tmp_path / "ref.py",
    )
    assert result.valid and result.summary.validated, result.reasons
    assert not result.summary.results["lost"] and not result.summary.results["wrong"]
    [query] = result.summary.queries
    assert query.name == "large-orders" and not query.not_committed and query.records == RATE * MEASURED_S
    committed, seen = query.committed_ms["p50"], result.summary.percentile_ms("latest", "p50")
    assert committed is not None and seen is not None
    run = RunDir(result.directory)
    moments = sorted(one.committed_ms for one in run.samples(CommitSample))
    longest_batch_ms = max(later - one for one, later in pairwise(moments))
    assert -5 <= committed - seen <= longest_batch_ms
    redirected = {(one.what, one.old) for one in run.outcome().redirected}
    assert {
        ("broker", "kafka.shop.example:9092"),
        ("topic read", "orders"),
        ("topic written", "large-orders"),
        ("checkpoint", "/var/lib/large-orders/checkpoint"),
    } <= redirected
    assert run.manifest().files[0].path == str(orders)


SLEEPY = """
import sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "prod:9092")
orders = kafka.option("subscribe", "v2.orders").load()

def each(batch, number):
    batch.count()
    time.sleep(2)
    with open(sys.argv[1], "a") as log:
        log.write(f"{number} {time.time() * 1000}\\n")

orders.writeStream.foreachBatch(each).queryName("sleepy").start()
orders.writeStream.format("console").queryName("shown").start()
spark.streams.awaitAnyTermination()
"""


@pytest.mark.full
def test_commits_follow_the_function_of_a_batch(orders: Path, tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    ended = tmp_path / "ended.txt"
    result = measure(
        tmp_path / "sleepy.py",
        tmp_path / "runs",
        f"orders={orders}",
        program=[str(ended)],
        map=["orders=v2.orders"],
        warmup=10,
    )
    assert result.verdict == "VALID" and result.summary.validated is False, result.reasons
    run = RunDir(result.directory)
    assert {query.name for query in result.summary.queries} == {"sleepy", "shown"}
    commits = {one.batch: one.committed_ms for one in run.samples(CommitSample) if one.query == "sleepy"}
    known = [(int(number), float(ms)) for number, ms in (line.split() for line in ended.read_text().splitlines())]
    late_ms = [commits[number] - ms for number, ms in known if number in commits]
    assert len(late_ms) >= 3 and all(0 <= ms <= 500 for ms in late_ms), late_ms
    slow, quick = (next(one for one in result.summary.queries if one.name == name) for name in ("sleepy", "shown"))
    assert slow.committed_ms["p50"] is not None and slow.committed_ms["p50"] >= 2000
    assert quick.committed_ms["p50"] is not None and quick.committed_ms["p50"] < slow.committed_ms["p50"]
    # A record is done when both have committed it.
    assert result.latency.p50_ms is not None and result.latency.p50_ms >= 2000


@contextmanager
def listening() -> Iterator[tuple[int, list[Any]]]:
    """A port, and who has connected to it."""
    seen: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    seen.append(server.accept()[1])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], seen


HEAD = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "prod:9092")
orders = kafka.option("subscribe", "orders").load()
rows = orders.selectExpr("cast(key as string) key", "cast(value as string) value")
"""
IN_A_BATCH = """
def each(batch, number):
    try:
        batch.write.jdbc(f"jdbc:postgresql://127.0.0.1:{sys.argv[1]}/shop?user=me&password=hunter2", "orders")
    except Exception as refused:
        print("caught", refused)

rows.writeStream.foreachBatch(each).start().awaitTermination()
"""
TO_KAFKA = """
address = f"127.0.0.1:{sys.argv[1]}"
to = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", address).option("topic", "copy")
to.option("checkpointLocation", "/tmp/copy").start().awaitTermination()
"""
TO_S3 = 'rows.writeStream.format("parquet").start("s3a://bucket/orders").awaitTermination()\n'
TO_TABLE = 'rows.writeStream.toTable("shop.orders").awaitTermination()\n'
BY_SQL = 'spark.sql("create table shop as select 1")\n'


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param(IN_A_BATCH, "a sink of format jdbc", id="jdbc"),
        pytest.param(TO_KAFKA, "from which it reads none of the run's data", id="kafka", marks=pytest.mark.full),
        pytest.param(TO_S3, "s3a://bucket/orders", id="s3", marks=pytest.mark.full),
        pytest.param(TO_TABLE, "the table shop.orders", id="table", marks=pytest.mark.full),
        pytest.param(BY_SQL, "writes by SQL", id="sql", marks=pytest.mark.full),
    ],
)
def test_a_sink_outside_the_run_is_refused_before_anything_is_sent(
    orders: Path, tmp_path: Path, code: str, said: str
) -> None:
    (tmp_path / "job.py").write_text(HEAD + code)
    with listening() as (port, seen), pytest.raises(UsageError) as caught:
        measure(tmp_path / "job.py", tmp_path / "runs", f"orders={orders}", program=[str(port)])
    message = caught.value.message()
    assert said in message and "job.py" in message and "hunter2" not in message
    assert not seen


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param("print('nothing to do')\n", "ended before it started a streaming query", id="ends"),
        pytest.param("import nothing_of_that_name\n", "No module named 'nothing_of_that_name'", id="raises"),
        pytest.param(
            HEAD.replace('"orders")', '"other")'),
            "the topic other, for which the run has no data",
            id="topic",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_script_that_cannot_be_measured_gets_its_message(orders: Path, tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "job.py").write_text(code)
    with pytest.raises(UsageError) as caught:
        measure(tmp_path / "job.py", tmp_path / "runs", f"orders={orders}")
    assert said in caught.value.message()
    assert not (tmp_path / "runs" / "1").exists()


@pytest.mark.full
def test_windows_to_parquet(orders: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    result = measure(
        EXAMPLES / "revenue.py",
        tmp_path / "runs",
        f"orders={orders},time=ordered_at",
        program=[str(target)],
        duration=30,
    )
    assert result.valid, result.reasons
    [query] = result.summary.queries
    assert query.windows >= 1 and query.window_ms is not None
    # The watermark is five seconds behind the newest order.
    assert query.window_ms["mean"] is not None and query.window_ms["mean"] >= 5000
    assert not target.exists()


@pytest.mark.full
def test_an_upsert_with_two_queries(orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDERS_DATABASE", str(tmp_path / "orders.db"))
    result = measure(EXAMPLES / "upsert.py", tmp_path / "runs", f"orders={orders}", warmup=20)
    assert result.verdict == "VALID", result.reasons
    assert {query.name for query in result.summary.queries} == {"latest", "total"}
    assert (tmp_path / "orders.db").is_file()


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_a_script_on_another_pyspark(orders: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "pyspark==3.5.7", "setuptools"], check=True)
    result = measure(
        EXAMPLES / "large_orders.py", tmp_path / "runs", f"orders={orders},key=order_id", python=str(python)
    )
    assert result.verdict == "VALID", result.reasons
    assert result.summary.engine.version == "3.5.7"


TO_DELTA = """
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

builder = SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
spark = configure_spark_with_delta_pip(builder).getOrCreate()
kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "prod:9092")
rows = kafka.option("subscribe", "orders").load().selectExpr("cast(value as string) value")
to = rows.writeStream.format("delta").option("checkpointLocation", "/data/checkpoint")
to.start("/data/orders").awaitTermination()
"""


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_a_table_of_delta_with_its_package(orders: Path, tmp_path: Path) -> None:
    """The package is resolved although the script reaches no repository."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    packages = ["pyspark==3.5.7", "delta-spark==3.3.2", "setuptools"]
    subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    (tmp_path / "job.py").write_text(TO_DELTA)
    result = measure(tmp_path / "job.py", tmp_path / "runs", f"orders={orders}", python=str(python), warmup=20)
    assert result.verdict == "VALID", result.reasons
    [query] = result.summary.queries
    assert query.sink == "delta" and query.records == RATE * MEASURED_S
    redirected = {one.what: one for one in RunDir(result.directory).outcome().redirected}
    assert "io.delta:delta-spark" in redirected["packages"].old
    assert redirected["path written"].old == "/data/orders"


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_the_capacity_of_a_script_and_two_revisions_compared(orders: Path, tmp_path: Path) -> None:
    found = streamgauge.capacity(
        str(EXAMPLES / "large_orders.py"),
        data=[f"orders={orders},loop=true"],
        rate=500,
        most=1000,
        warmup=10,
        duration=10,
        resolution=1.0,
        settings={"quiet_s": 1},
        out=tmp_path / "capacity",
    )
    assert found.capacity.outcome in ("found", "ceiling") and found.capacity.interval[0] >= 500
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(EXAMPLES / "large_orders.py", repository / "job.py")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", "-C", str(repository), *words], check=True, env=environment)
    with (repository / "job.py").open("a") as file:
        file.write("# changed\n")
    command = [
        sys.executable,
        "-m",
        "streamgauge",
        "compare",
        "job.py@main",
        "job.py",
        "--data",
        f"orders={orders},loop=true",
    ]
    more = ["--rate", "200/s", "--for", "12s", "--warmup", "30s", "--runs", "2", "--out", "both"]
    done = subprocess.run([*command, *more], cwd=repository, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "B : A = " in done.stdout
