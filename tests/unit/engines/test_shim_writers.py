"""What an unchanged script writes, with stand-ins for the classes of PySpark."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_shim import events, shim

__all__ = ["shim"]


class Conf:
    """The settings of a session."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings

    def get(self, key: str, default: str) -> str:
        return self.settings.get(key, default)


def make_io_class() -> Any:
    """A reader and writer that notes what gets past the shim."""

    class ReaderWriter:
        def __init__(self, **settings: str) -> None:
            self._spark = SimpleNamespace(conf=Conf(**settings))
            self.given: dict[str, Any] = {}

        def format(self, source: str) -> Any:
            return self

        def option(self, key: str, value: Any) -> Any:
            self.given[key] = value
            return self

        def options(self, **options: Any) -> Any:
            # As in Spark Connect: each one passes through option().
            for key, value in options.items():
                self.option(key, value)
            return self

        def load(self, path: Any = None, format: Any = None, schema: Any = None, **options: Any) -> Any:
            self.options(**options)
            self.given["loaded"] = path
            return self

        def save(
            self, path: Any = None, format: Any = None, mode: Any = None, partitionBy: Any = None, **options: Any
        ) -> Any:
            self.options(**options)
            self.given["saved"] = path
            return self

        def saveAsTable(
            self, name: str, format: Any = None, mode: Any = None, partitionBy: Any = None, **options: Any
        ) -> Any:
            self.options(**options)
            return self

    return ReaderWriter


@pytest.fixture
def writer(shim: Any) -> Any:
    cls = make_io_class()
    shim.sinks.patch_writer(cls)
    return cls


@pytest.fixture
def reader(shim: Any) -> Any:
    cls = make_io_class()
    shim.sources.patch_reader(cls)
    return cls


def test_a_writer_without_a_format_has_that_of_the_session(shim: Any, writer: Any) -> None:
    with pytest.raises(shim.Refused, match="a sink of format jdbc"):
        writer(**{"spark.sql.sources.default": "jdbc"}).save("/data/orders")
    assert writer().save("/data/orders").given["saved"].endswith("/orders")


def test_redirected_paths_name_their_file_system(shim: Any, writer: Any) -> None:
    """They do not go to the default one, and it does no harm to redirect them again."""
    saved = writer().save("/data/orders").given["saved"]
    assert saved.startswith(f"file:{shim.directory}/output/")
    assert writer().save(saved).given["saved"] == saved
    assert writer().option("path", "/data/orders").save().given["path"] == saved
    [event] = events(shim, "redirected")
    assert event["new"] == saved[len("file:") :]
    outside = f"{shim.directory}/output/../../data"
    assert writer().save(outside).given["saved"].startswith(f"file:{shim.directory}/output/")


def test_what_was_written_is_read_where_it_is(shim: Any, reader: Any, writer: Any) -> None:
    saved = writer().save("/data/orders").given["saved"]
    assert reader().load("/data/orders").given["loaded"] == "/data/orders"
    Path(saved[len("file:") :]).mkdir(parents=True)
    assert reader().load("/data/orders").given["loaded"] == saved
    # Also below it, by a pattern, and above it, where there is nothing else.
    assert reader().load("/data/orders/day=1/*.json").given["loaded"] == "/data/orders/day=1/*.json"
    assert reader().load("/data/orders/*").given["loaded"] == f"{saved}/*"
    assert reader().load("/data").given["loaded"] == saved.removesuffix("/orders")
    assert reader().load("/").given["loaded"] == "/"


def test_checkpoints_name_their_file_system_and_are_reported_as_plain_paths(shim: Any) -> None:
    written = shim.sinks.write_option({}, "checkpointlocation", "s3a://key:hidden@lake/cp?sig=hidden")
    [event] = events(shim, "redirected")
    assert written == "file:" + event["new"]
    assert event["old"] == "s3a://lake/cp"
    assert shim.shim.checkpoint(written) == event["new"]


def test_options_are_redirected_once(shim: Any, reader: Any, writer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim.shim, "_create", lambda address: None)
    shim.shim.brokers.add("prod:9092")
    options = {"kafka.bootstrap.servers": "prod:9092", "topic": "large"}
    given = writer().save(format="kafka", **options).given
    assert (given["topic"], given["kafka.bootstrap.servers"]) == ("run.large", "127.0.0.1:4242")
    given = reader().load(format="kafka", subscribePattern="ord.*", **{"kafka.group.id": "mine"}).given
    assert (given["subscribePattern"], given["kafka.group.id"]) == (r"run\.orders", "run-mine")
    assert reader().options(**{"kafka.group.id": "mine"}).given == {"kafka.group.id": "run-mine"}


@pytest.mark.parametrize(
    ("key", "value", "given"),
    [
        ("startingOffsetsByTimestamp", '{"orders": {"0": 1000}}', {"startingOffsets": "earliest"}),
        ("startingTimestamp", "1000", {"startingOffsets": "earliest"}),
        ("endingOffsetsByTimestamp", '{"orders": {"0": 1000}}', {"endingOffsets": "latest"}),
    ],
)
def test_moments_become_offsets_of_the_run(reader: Any, key: str, value: str, given: dict[str, str]) -> None:
    assert reader().option(key, value).given == given


def test_a_pattern_that_only_java_knows_is_refused(shim: Any, reader: Any) -> None:
    with pytest.raises(shim.Refused, match="cannot be compared with the topics of the run"):
        reader().option("subscribePattern", r"\p{Alpha}+")


def test_a_table_with_files_elsewhere_is_refused(shim: Any, writer: Any) -> None:
    writer().saveAsTable("sandbox.orders")
    with pytest.raises(shim.Refused, match=r"writes to s3a://lake/orders"):
        writer().saveAsTable("sandbox.orders", path="s3a://lake/orders")
    with pytest.raises(shim.Refused, match=r"the table shop\.orders"):
        writer().saveAsTable("shop.orders")


@pytest.mark.parametrize(
    ("path", "shown", "hint"),
    [
        ("s3a://lake/pay/0", "s3a://lake/pay/0", "s3a://lake/pay/"),
        ("s3a://lake/pay/dt=2026-11-18/hour=7", "s3a://lake/pay/dt=2026-11-18/hour=7", "s3a://lake/pay/"),
        ("s3a://lake/pay/2026/11/18", "s3a://lake/pay/2026/11/18", "s3a://lake/pay/"),
        ("s3a://lake/pay/batch-17/", "s3a://lake/pay/batch-17/", "s3a://lake/pay/"),
        ("s3a://lake/pay/v2", "s3a://lake/pay/v2", "s3a://lake/pay/v2"),
        ("s3a://lake/0", "s3a://lake/0", "s3a://lake/0"),
        ("s3a://KEY:hid/den@lake/x", "s3a://lake/x", "s3a://lake/x"),
        ("wasbs://c@account/x?sig=hidden", "wasbs://c@account/x", "wasbs://c@account/x"),
    ],
)
def test_a_refusal_names_the_path_and_what_its_batches_share(shim: Any, path: str, shown: str, hint: str) -> None:
    with pytest.raises(shim.Refused):
        shim.targets.check_sink("parquet", {}, path, False)
    [event] = events(shim, "refused")
    assert event["what"] == f"refused: the script writes to {shown}"
    assert event["hint"] == f"--allow-sink {hint} if that is intended"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:oracle:thin:scott/hidden@//h/x", "jdbc:oracle:thin:@//h/x"),
        ("jdbc:oracle:thin:scott/hid@den@h:1521:x", "jdbc:oracle:thin:@h:1521:x"),
        ("jdbc:postgresql://h/shop?user=me&password=hidden", "jdbc:postgresql://h/shop"),
        ("jdbc:sqlserver://h;user=me;password=hidden", "jdbc:sqlserver://h"),
        ("jdbc:db2://h:50000/shop:password=hidden;", "jdbc:db2://h:50000/shop"),
        ("jdbc:teradata://h/PASSWORD=hidden,USER=me", "jdbc:teradata://h"),
    ],
)
def test_a_refusal_shows_no_credentials(shim: Any, url: str, shown: str) -> None:
    with pytest.raises(shim.Refused) as caught:
        shim.targets.check_sink("jdbc", {"url": url}, None, False)
    text = (shim.directory / "events.jsonl").read_text()
    assert json.loads(text)["hint"] == f"--allow-sink {shown} if that is intended"
    assert "hid" not in text + str(caught.value)
    shim.shim.config["allow"] = [shown]
    shim.targets.check_sink("jdbc", {"url": url}, None, False)


def test_what_is_allowed_cannot_be_left_again(shim: Any) -> None:
    shim.shim.config["allow"] = ["s3a://test/", "s3a://good", "abfss://test@account/"]
    assert shim.shim.is_allowed("abfss://test@account/x")
    assert not shim.shim.is_allowed("abfss://prod@account/x")
    assert shim.shim.is_allowed("s3a://KEY:SECRET@test/x")
    assert not shim.shim.is_allowed("s3a://test/../lake/x")
    assert not shim.shim.is_allowed("s3a://good@lake/x")


class FakeRdd:
    def saveAsTextFile(self, path: str, compressionCodecClass: Any = None) -> str:
        return path

    def saveAsPickleFile(self, path: str, batchSize: int = 10) -> str:
        return path

    def saveAsSequenceFile(self, path: str, compressionCodecClass: Any = None) -> str:
        return path

    def saveAsHadoopFile(self, path: str, outputFormatClass: str, conf: Any = None) -> str:
        return path

    def saveAsNewAPIHadoopFile(self, path: str, outputFormatClass: str, conf: Any = None) -> str:
        return path

    def saveAsHadoopDataset(self, conf: Any) -> None:
        raise AssertionError("not refused")

    def saveAsNewAPIHadoopDataset(self, conf: Any) -> None:
        raise AssertionError("not refused")


def test_rdds_are_written_in_the_run_or_not_at_all(shim: Any) -> None:
    cls = type("Rdd", (FakeRdd,), {})
    shim.rdds.patch_rdd(cls)
    rdd = cls()
    here = f"file:{shim.directory}/output/"
    for name in ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile"):
        assert getattr(rdd, name)("/data/orders").startswith(here)
        assert getattr(rdd, name)(path="/data/orders").startswith(here)
        with pytest.raises(shim.Refused, match="s3a://lake/orders"):
            getattr(rdd, name)("s3a://lake/orders")
    known = {
        "saveAsHadoopFile": "org.apache.hadoop.mapred.TextOutputFormat",
        "saveAsNewAPIHadoopFile": "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat",
    }
    for name, output_format in known.items():
        assert getattr(rdd, name)("/data/orders", output_format).startswith(here)
        with pytest.raises(shim.Refused, match="s3a://lake/orders"):
            getattr(rdd, name)("s3a://lake/orders", output_format)
        with pytest.raises(shim.Refused, match="EsOutputFormat"):
            getattr(rdd, name)("-", "org.elasticsearch.hadoop.mr.EsOutputFormat")
    for name in ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset"):
        with pytest.raises(shim.Refused, match=name):
            getattr(rdd, name)({"es.nodes": "prod"})


def test_merges_and_the_catalog_change_no_table_that_is_not_allowed(shim: Any) -> None:
    class MergeIntoWriter:
        def __init__(self, plan: Any, session: Any, table: str, condition: Any) -> None:
            self.table = table

    class Catalog:
        def createTable(self, tableName: str, path: Any = None, source: Any = None) -> Any:
            return path

        def dropTable(self, tableName: str) -> None:
            raise AssertionError("not refused")

    shim.tables.patch_merge(MergeIntoWriter)
    shim.tables.patch_catalog(Catalog)
    assert MergeIntoWriter(None, None, "sandbox.orders", None).table == "sandbox.orders"
    assert Catalog().createTable("sandbox.orders") is None
    assert Catalog().createTable("sandbox.orders", "/data/x").startswith(f"file:{shim.directory}/output/")
    for change in (
        lambda: MergeIntoWriter(None, None, "orders", None),
        lambda: Catalog().createTable("orders"),
        lambda: Catalog().createTable(tableName="orders"),
        lambda: Catalog().createTable("sandbox.orders", "s3a://lake/x"),
        lambda: Catalog().dropTable("orders"),
    ):
        with pytest.raises(shim.Refused):
            change()


def test_tables_of_delta_are_in_the_run_or_allowed(shim: Any) -> None:
    class DeltaTable:
        @classmethod
        def forPath(cls, sparkSession: Any, path: str, hadoopConf: Any = None) -> str:
            return path

        @classmethod
        def isDeltaTable(cls, sparkSession: Any, identifier: str) -> str:
            return identifier

        @classmethod
        def forName(cls, sparkSession: Any, tableOrViewName: str) -> str:
            return tableOrViewName

    class DeltaTableBuilder:
        def location(self, location: str) -> str:
            return location

        def tableName(self, identifier: str) -> str:
            return identifier

    shim.hooks.PATCHES["delta.tables"](SimpleNamespace(DeltaTable=DeltaTable, DeltaTableBuilder=DeltaTableBuilder))
    here, builder = shim.shim.output_path("/data/orders"), DeltaTableBuilder()
    assert DeltaTable.forPath(None, "/data/orders") == DeltaTable.isDeltaTable(None, identifier="/data/orders") == here
    assert builder.location("/data/orders") == here
    assert DeltaTable.forName(None, "sandbox.orders") == builder.tableName("sandbox.orders") == "sandbox.orders"
    for use in (
        lambda: DeltaTable.forPath(None, "s3a://lake/orders"),
        lambda: DeltaTable.isDeltaTable(None, "s3a://lake/orders"),
        lambda: DeltaTable.forName(None, "orders"),
        lambda: builder.location("s3a://lake/orders"),
        lambda: builder.tableName("orders"),
    ):
        with pytest.raises(shim.Refused):
            use()
