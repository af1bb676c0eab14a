"""The shim of an unchanged script: what it redirects and refuses, without PySpark."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.engines.pyspark import SHIM

CONFIG = {
    "script": "/jobs/job.py",
    "bootstrap": "127.0.0.1:4242",
    "own_broker": True,
    "kafka": {},
    "brokers": [],
    "topics": {"orders": "run.orders"},
    "sinks": {"large": "run.large"},
    "sink_prefix": "run-",
    "allow": ["jdbc:sqlite:", "sandbox."],
    "hosts": ["metrics.example"],
    "master": "local[*]",
    "submit": False,
    "jars": ["/jars/spark-sql-kafka.jar"],
    "packages": "",
    "conf": {"spark.ui.enabled": "false"},
}


@pytest.fixture
def shim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Its modules, loaded with a directory of their own."""
    folders = {"checkpoints": str(tmp_path / "checkpoints"), "output": str(tmp_path / "output")}
    (tmp_path / "shim.json").write_text(json.dumps({**CONFIG, **folders}))
    monkeypatch.setenv("STREAMGAUGE_SHIM", str(tmp_path))
    monkeypatch.syspath_prepend(str(SHIM))
    names = ("hooks", "packages", "queries", "rdds", "sessions", "sinks", "sources", "tables", "targets", "urls")
    package = importlib.import_module("streamgauge_shim")
    yield SimpleNamespace(
        shim=package.SHIM,
        Refused=package.Refused,
        directory=tmp_path,
        **{name: importlib.import_module(f"streamgauge_shim.{name}") for name in names},
    )
    for name in [one for one in sys.modules if one.partition(".")[0] == "streamgauge_shim"]:
        del sys.modules[name]


def events(shim: Any, kind: str) -> list[dict[str, Any]]:
    lines = (shim.directory / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("select * from orders", False),
        ("create or replace temporary view v as select 1", False),
        ("drop view v", False),
        ("insert into sandbox.orders select 1", False),
        ("create table shop as select 1", True),
        ("  INSERT INTO orders VALUES (1)", True),
        ("-- nightly\n/* of the\nshop */ insert overwrite orders select 1", True),
        ("with x as (select 1) insert into orders select * from x", True),
        ("from x\ninsert into orders select *", True),
        ("merge into orders using x on true when matched then delete", True),
    ],
)
def test_sql_that_writes_is_refused(shim: Any, statement: str, refused: bool) -> None:
    class Session:
        def sql(self, text: str) -> str:
            return text

    shim.sessions.patch_session(Session)
    if not refused:
        assert Session().sql(statement) == statement
        return
    with pytest.raises(shim.Refused):
        Session().sql(statement)
    assert "writes by SQL" in events(shim, "refused")[0]["what"]


@pytest.mark.parametrize(
    ("format_", "settings", "path", "refused"),
    [
        ("console", {}, None, ""),
        ("parquet", {}, "/data/orders", ""),
        ("parquet", {}, "file:///data/orders", ""),
        ("parquet", {}, "s3a://bucket/orders", "s3a://bucket/orders"),
        ("jdbc", {"url": "jdbc:sqlite:orders.db"}, None, ""),
        ("jdbc", {"url": "jdbc:postgresql://me:secret@db/shop?password=secret"}, None, "jdbc:postgresql://db/shop"),
        ("kafka", {"bootstrap": "prod:9092"}, None, ""),
        ("kafka", {"bootstrap": "other:9092"}, None, "other:9092"),
        ("mongodb", {}, None, "mongodb"),
    ],
)
def test_a_sink_is_in_the_run_or_refused(
    shim: Any, format_: str, settings: dict[str, str], path: str | None, refused: str
) -> None:
    shim.shim.brokers.add("prod:9092")
    if not refused:
        shim.targets.check_sink(format_, settings, path, False)
        return
    with pytest.raises(shim.Refused) as caught:
        shim.targets.check_sink(format_, settings, path, False)
    assert refused in str(caught.value) and "secret" not in str(caught.value)


def test_what_is_read_is_redirected(shim: Any) -> None:
    def option(key: str, value: str) -> str:
        redirected: str = shim.sources.read_option({}, key, value)
        return redirected

    assert option("kafka.bootstrap.servers", "prod:9092") == "127.0.0.1:4242"
    assert option("kafka.security.protocol", "SASL_SSL") == "PLAINTEXT"
    assert option("subscribe", "orders") == "run.orders"
    assert json.loads(option("assign", '{"orders": [0]}')) == {"run.orders": [0]}
    assert option("subscribepattern", "ord.*") == r"run\.orders"
    assert option("startingoffsets", '{"orders": {"0": 23}}') == "earliest"
    assert option("startingoffsets", "latest") == "latest"
    with pytest.raises(shim.Refused, match="the topic payments, for which the run has no data"):
        option("subscribe", "orders,payments")
    assert [one["old"] for one in events(shim, "redirected")][:2] == ["prod:9092", "orders"]


def test_a_topic_is_announced_in_one_step(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees the announcement can read the name in it."""
    seen = []

    def answer(_: float) -> None:
        for wanted in shim.directory.glob("*.wanted"):
            seen.append(wanted.read_text())
            wanted.with_suffix(".made").touch()

    monkeypatch.setattr("time.sleep", answer)
    assert shim.shim.sink_topic("copy") == "run-copy"
    assert shim.shim.sink_topic("large") == "run.large"
    assert set(seen) == {"run-copy", "run.large"}
    assert not list(shim.directory.glob("*.half"))


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        (("127.0.0.1", 80), False),
        (("::1", 80, 0, 0), False),
        (("metrics.example", 80), False),
        ("/run/socket", False),
        (("localhost", 80), False),
        (("::ffff:127.0.0.1", 80, 0, 0), False),
        (("10.0.0.1", 5432), True),
        (("127.evil.example", 5432), True),
        (("::ffff:10.0.0.1", 5432, 0, 0), True),
    ],
)
def test_connections_of_python_stay_on_the_machine(shim: Any, address: Any, refused: bool) -> None:
    if refused:
        with pytest.raises(shim.Refused, match=rf"refused: the script connects to {address[0]}:5432"):
            shim.hooks.fence("socket.connect", (None, address))
    else:
        shim.hooks.fence("socket.connect", (None, address))


def test_packages_become_jars_that_were_resolved_elsewhere(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connector = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--packages a:b:1,{connector} --driver-memory 1g pyspark-shell")
    requests = []

    def answer(_: float) -> None:
        for request in shim.directory.glob("*.packages"):
            requests.append(json.loads(request.read_text()))
            request.with_suffix(".jars").write_text(json.dumps({"jars": ["file:///b.jar"], "problem": ""}))

    monkeypatch.setattr(shim.packages.time, "sleep", answer)
    options = {"spark.jars.packages": "c:d:2", "spark.jars": "/mine.jar", "spark.jars.repositories": "https://own"}
    shim.sessions.configure(options)
    assert requests == [{"spark.jars.packages": "c:d:2,a:b:1", "spark.jars.repositories": "https://own"}]
    assert options["spark.jars"] == "/mine.jar,/jars/spark-sql-kafka.jar,file:///b.jar"
    assert "spark.jars.packages" not in options
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--driver-memory 1g pyspark-shell"
    assert {"packages"} <= {one["what"] for one in events(shim, "redirected")}


def test_packages_that_are_not_to_be_had_are_named(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: float) -> None:
        for request in shim.directory.glob("*.packages"):
            request.with_suffix(".jars").write_text(json.dumps({"jars": [], "problem": "a#b;1: not found"}))

    monkeypatch.setattr(shim.packages.time, "sleep", answer)
    with pytest.raises(shim.Refused, match=r"could not be resolved: a:b:1 \(a#b;1: not found\)"):
        shim.sessions.configure({"spark.jars.packages": "a:b:1"})


def test_the_connector_of_the_run_needs_no_repository(shim: Any) -> None:
    options = {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"}
    shim.sessions.configure(options)
    assert options["spark.jars"] == "/jars/spark-sql-kafka.jar"
    assert not [*shim.directory.glob("*.packages")]
