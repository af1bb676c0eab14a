"""The sessions, contexts and queries of an unchanged script, with stand-ins for the classes of PySpark."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from test_shim import events, shim

from streamgauge.engines.pyspark import SHIM

__all__ = ["shim"]


class FakeConf:
    """SparkConf before a JVM runs."""

    _jconf = None

    def __init__(self, loadDefaults: bool = True, **settings: str) -> None:
        self.settings = dict(settings)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def getAll(self) -> Any:
        return self.settings.items()


def make_context_module() -> Any:
    class SparkContext:
        def __init__(
            self, master: Any = None, appName: Any = None, environment: Any = None, conf: Any = None, jsc: Any = None
        ) -> None:
            self.settings, self.environment = conf.settings, environment
            if master:
                self.settings["spark.master"] = master

        def setCheckpointDir(self, dirName: str) -> str:
            return dirName

    return SimpleNamespace(SparkContext=SparkContext, SparkConf=FakeConf)


@pytest.mark.parametrize("master", [None, "spark://prod:7077"])
def test_a_context_gets_the_settings_of_the_run(shim: Any, master: str | None) -> None:
    module = make_context_module()
    shim.sessions.patch_context(module)
    connector = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    conf = FakeConf(**{"spark.master": "yarn", "spark.jars.packages": connector, "spark.app.name": "mine"})
    settings = module.SparkContext(master, conf=conf).settings
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.jars"] == "/jars/spark-sql-kafka.jar"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.app.name"] == "mine"
    assert "spark.jars.packages" not in settings
    assert module.SparkContext("yarn").settings["spark.master"] == "local[*]"
    assert module.SparkContext(conf=FakeConf(), environment={"PYTHONPATH": "/own"}).environment == {
        "PYTHONPATH": f"{SHIM}{os.pathsep}/own"
    }
    assert module.SparkContext().setCheckpointDir("hdfs://prod/x").startswith(f"file:{shim.directory}/checkpoints/")


def test_to_configure_twice_is_the_same_as_once(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session does it, and then its context."""
    shim.shim.config["packages"] = "a:b:1"
    resolved = []

    def resolve(packages: list[str], options: Any) -> list[str]:
        resolved.append(packages)
        return ["/b.jar"]

    monkeypatch.setattr(shim.sessions, "resolve", resolve)
    options = {"spark.eventLog.dir": "hdfs://prod/logs", "spark.jars": "/mine.jar"}
    shim.sessions.configure(options)
    once = dict(options)
    shim.sessions.configure(options)
    assert options == once
    assert resolved == [["a:b:1"]]
    assert options["spark.jars"] == "/mine.jar,/jars/spark-sql-kafka.jar,/b.jar"


def test_spark_keeps_its_logs_and_its_warehouse_in_the_run(shim: Any) -> None:
    shim.shim.config["conf"]["spark.sql.warehouse.dir"] = "/run/warehouse"
    options = {
        "spark.eventLog.dir": "hdfs://prod/logs",
        "spark.history.fs.logDirectory": "hdfs://prod/logs",
        "spark.eventLog.rolling.enabled": "true",
        "spark.sql.streaming.checkpointLocation": "hdfs://prod/checkpoints",
    }
    shim.sessions.configure(options)
    for key in ("spark.eventLog.dir", "spark.history.fs.logDirectory"):
        assert options[key] == f"file:{shim.directory}/output/{key}"
        assert (shim.directory / "output" / key).is_dir()
    assert options["spark.eventLog.rolling.enabled"] == "true"
    assert options["spark.sql.streaming.checkpointLocation"] == f"file:{shim.directory}/checkpoints"
    assert options["spark.sql.warehouse.dir"] == "file:/run/warehouse"
    assert [one["old"] for one in events(shim, "redirected") if one["what"] == "log"] == ["hdfs://prod/logs"] * 2


def test_workers_are_fenced_whatever_the_script_sets(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(launch_gateway=lambda conf: os.environ["PYTHONPATH"])
    shim.sessions.patch_gateway(module)
    monkeypatch.setenv("PYTHONPATH", "/own")
    assert module.launch_gateway(None) == f"{SHIM}{os.pathsep}/own"
    assert module.launch_gateway(None) == f"{SHIM}{os.pathsep}/own"
    options = {"spark.executorEnv.PYTHONPATH": "/own"}
    shim.sessions.configure(options)
    assert options["spark.executorEnv.PYTHONPATH"] == f"{SHIM}{os.pathsep}/own"


def test_a_connect_server_that_is_not_of_the_script_is_refused(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def __init__(self, connection: Any) -> None:
            self.connection = connection

        def sql(self, sqlQuery: str) -> None:
            pass

    shim.sessions.patch_remote_session(Session)
    monkeypatch.delenv("SPARK_LOCAL_REMOTE", raising=False)
    with pytest.raises(shim.Refused, match=r"the Spark Connect server sc://prod:15002/, which cannot be fenced"):
        Session("sc://prod:15002/;token=hidden")
    with pytest.raises(shim.Refused, match=r"the Spark Connect server prod:15002,"):
        Session(SimpleNamespace(endpoint="prod:15002"))
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    assert Session("sc://localhost").connection == "sc://localhost"


def make_stream_writer() -> Any:
    class StreamWriter:
        def __init__(self, **settings: str) -> None:
            conf = SimpleNamespace(get=lambda key, default: settings.get(key, default))
            self._spark, self.given = SimpleNamespace(conf=conf), dict[str, Any]()

        def format(self, source: str) -> Any:
            return self

        def option(self, key: str, value: Any) -> Any:
            self.given[key] = value
            return self

        def options(self, **options: Any) -> Any:
            raise AssertionError("passes options by")

        def foreach(self, function: Any) -> Any:
            return self

        def queryName(self, name: str) -> Any:
            self.given["name"] = name
            return self

        def start(
            self,
            path: Any = None,
            format: Any = None,
            outputMode: Any = None,
            partitionBy: Any = None,
            queryName: Any = None,
        ) -> Any:
            self.given["path"] = path
            name = queryName or self.given.get("name")
            return SimpleNamespace(id=self.given["checkpointLocation"], name=name, given=self.given)

    return StreamWriter


@pytest.fixture
def stream_writer(shim: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(shim.queries, "follow_progress", lambda: None)
    cls = make_stream_writer()
    shim.sinks.patch_stream_writer(cls)
    return cls


def test_a_query_without_a_checkpoint_begins_anew_each_time(shim: Any, stream_writer: Any) -> None:
    writer = stream_writer().format("console").queryName("orders")
    first, second = writer.start().given["checkpointLocation"], writer.start().given["checkpointLocation"]
    shim.shim.start = "another"  # the script was killed and started again
    third = stream_writer().format("console").queryName("orders").start().given["checkpointLocation"]
    assert len({first, second, third}) == 3
    assert first.startswith(f"file:{shim.directory}/checkpoints/orders-temporary-")
    reported = events(shim, "query")
    assert ["file:" + one["checkpoint"] for one in reported][:1] == [first]
    assert [one["name"] for one in reported] == ["orders", "orders (2)", "orders (3)"]


def test_a_named_query_finds_its_checkpoint_below_that_of_the_session(shim: Any, stream_writer: Any) -> None:
    settings = {"spark.sql.streaming.checkpointLocation": f"file:{shim.directory}/checkpoints"}
    places = [stream_writer(**settings).format("console").start(queryName="orders").given for _ in range(2)]
    assert {one["checkpointLocation"] for one in places} == {f"file:{shim.directory}/checkpoints/orders"}
    assert {one["name"] for one in events(shim, "query")} == {"orders"}


def test_the_name_of_a_query_is_that_of_one_checkpoint(shim: Any, stream_writer: Any) -> None:
    def start(checkpoint: str, name: str | None) -> None:
        stream_writer().format("noop").option("checkpointLocation", checkpoint).start(queryName=name)

    start("/a", "query 2")
    start("/b", None)
    start("/a", "renamed")
    start("/c", "query 2")
    names = [one["name"] for one in events(shim, "query")]
    assert names == ["query 2", "query 2 (2)", "query 2", "query 2 (3)"]


def test_a_stream_without_a_format_has_that_of_the_session(shim: Any, stream_writer: Any) -> None:
    with pytest.raises(shim.Refused, match="a sink of format jdbc"):
        stream_writer(**{"spark.sql.sources.default": "jdbc"}).start()
    assert stream_writer().start("/data/x").given["path"].startswith(f"file:{shim.directory}/output/")
    assert [one["sink"] for one in events(shim, "query")] == ["parquet"]


def test_a_sink_in_python_is_started_as_it_is(shim: Any, stream_writer: Any) -> None:
    """Its function runs in workers, whose connections are fenced."""
    stream_writer().foreach(print).start()
    assert [one["sink"] for one in events(shim, "query")] == ["foreach"]


def test_the_end_of_a_query_is_reported(shim: Any, stream_writer: Any) -> None:
    class Query:
        def __init__(self, number: str) -> None:
            self.id = number

        def stop(self) -> None:
            pass

    shim.queries.patch_query(Query)
    query = stream_writer().format("noop").start()
    Query(query.id).stop()
    Query("never reported").stop()
    assert ["file:" + one["checkpoint"] for one in events(shim, "stopped")] == [query.id]
