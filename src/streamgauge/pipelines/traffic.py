"""Road traffic, stage by stage: what the studies of it compute, and the right answers, in PySpark batch.

Written from the definitions (docs/reference/pipelines.md) alone: an engine's query and the answer that it is checked
against share nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.contracts import Pipeline
from streamgauge.pipelines.messages import n_seq_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Fields = tuple[tuple[str, str], ...]
"""Name and Spark type of each field of a JSON object."""

STREAMS = ("flow", "speed")
WINDOW_MS = 1000

MESSAGE: Fields = (
    ("n_seq", "bigint"),
    ("id", "string"),
    ("lane", "string"),
    ("lanes", "int"),
    ("timestamp", "string"),
    ("flow", "int"),
    ("speed", "int"),
    ("period", "int"),
    ("accuracy", "int"),
    ("lat_e6", "int"),
    ("lon_e6", "int"),
)
"""In their order; a message has one of flow and speed."""

LANE = ("timestamp", "id", "lane")
"""What a flow and a speed message have in common; a data set issues it once in each stream of a run."""


class Ingest(Pipeline):
    """Publish every message unchanged."""

    title: ClassVar[str] = "ingest: publish every message unchanged"
    inputs: ClassVar[tuple[str, ...]] = STREAMS
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    values: ClassVar[tuple[str, ...]] = ("message",)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return _all_inputs(inputs).select("n_seq", f.col("value").alias("message"), *_one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return output.withColumns({"n_seq": n_seq_in(f.col("value")), "message": f.col("value")})


class Parse(Pipeline):
    """Parse every message and publish its fields; a field that a message lacks is missing or null."""

    title: ClassVar[str] = "parse: parse every message, publish its fields"
    inputs: ClassVar[tuple[str, ...]] = STREAMS
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    values: ClassVar[tuple[str, ...]] = tuple(name for name, _ in MESSAGE if name != "n_seq")

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", _ddl(MESSAGE)).alias("parsed")
        fields = [f.col(f"parsed.{name}") for name in self.values]
        return _all_inputs(inputs).select("*", parsed).select("n_seq", *fields, *_one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return _decoded(output, MESSAGE)


class Stateful(Pipeline):
    """A stage whose results need several messages. Its result is a JSON object of ``fields``."""

    inputs: ClassVar[tuple[str, ...]] = STREAMS
    stateful: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("out_of_order_ms", "join_bound_ms")
    fields: ClassVar[Fields]

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return _decoded(output, self.fields)


class Join(Stateful):
    """Flow and speed of one lane in one record, where the two were appended at most the join bound apart."""

    title: ClassVar[str] = "join: flow and speed of each lane in one record"
    key: ClassVar[tuple[str, ...]] = LANE
    values: ClassVar[tuple[str, ...]] = ("lanes", "flow", "speed")
    fields: ClassVar[Fields] = (
        ("timestamp", "string"),
        ("id", "string"),
        ("lane", "string"),
        ("lanes", "int"),
        ("flow", "int"),
        ("speed", "int"),
    )

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return _joined(inputs, parameters).select(
            *self.key,
            *self.values,
            f.lit(2).alias("inputs"),
            "appended_min_ms",
            "appended_max_ms",
            (f.col("appended_sum_ms") / 2).alias("appended_mean_ms"),
            "intended_max_ns",
            "partitions",
        )


class Windowed(Stateful):
    """A stage with one row for each measurement point and second of event time that has a joined record."""

    key: ClassVar[tuple[str, ...]] = ("id", "window_end_ms")

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        """The second must be over, and no speed message may still find a flow message of it."""
        return (WINDOW_MS + float(parameters["join_bound_ms"])) / 1000


class Tumbling(Windowed):
    """The cars of all lanes together, and their mean speed."""

    title: ClassVar[str] = "tumbling: cars and mean speed of each point and second"
    values: ClassVar[tuple[str, ...]] = ("flow", "speed", "n")
    fields: ClassVar[Fields] = (
        ("id", "string"),
        ("window_end_ms", "bigint"),
        ("flow", "bigint"),
        ("speed", "double"),
        ("n", "int"),
    )

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        n, inputs_behind = f.col("n"), 2 * f.col("n")
        return _seconds(_joined(inputs, parameters)).select(
            *self.key,
            "flow",
            "speed",
            n.cast("int").alias("n"),
            inputs_behind.alias("inputs"),
            "appended_min_ms",
            "appended_max_ms",
            (f.col("appended_sum_ms") / inputs_behind).alias("appended_mean_ms"),
            "intended_max_ns",
            "partitions",
        )


def changes_over(look_back_s: tuple[int, ...]) -> Fields:
    """The fields that say how a point changed against so many seconds before."""
    return tuple((f"{what}_change_{k}", "double") for k in look_back_s for what in ("flow", "speed"))


class Sliding(Windowed):
    """How the flow and speed of a point changed, relative to those of the seconds ``look_back_s`` before."""

    look_back_s: ClassVar[tuple[int, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        changes = changes_over(cls.look_back_s)
        apart = " and ".join(str(k) for k in cls.look_back_s)
        cls.title = f"sliding: change of flow and speed of each point over {apart} seconds"
        cls.values = (*(name for name, _ in changes), "n")
        cls.fields = (("id", "string"), ("window_end_ms", "bigint"), *changes, ("n", "int"))

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        # All seconds of a point in one place, so that neither counting them nor looking back moves them again.
        seconds = _seconds(_joined(inputs, parameters).repartition("id"))
        of_point = Window.partitionBy("id").orderBy("window_end_ms")
        stamps = ("appended_min_ms", "appended_max_ms", "appended_sum_ms", "intended_max_ns", "partitions")
        second = f.struct("flow", "speed", "n", *stamps)
        before = {k: f"before_{k}" for k in self.look_back_s}
        looked_back = seconds.select(
            "*",
            *(
                # A frame of one value: the row of exactly that second, or none.
                f.first(second).over(of_point.rangeBetween(-k * WINDOW_MS, -k * WINDOW_MS)).alias(name)
                for k, name in before.items()
            ),
        )

        def change(what: str, k: int) -> Column:
            then = f.col(f"{before[k]}.{what}")
            return f.try_divide(f.col(what) - then, then)

        def over_all(name: str) -> list[Column]:
            return [f.col(name), *(f.col(f"{earlier}.{name}") for earlier in before.values())]

        def total(name: str) -> Column:
            return reduce(lambda one, other: one + f.coalesce(other, f.lit(0)), over_all(name))

        return looked_back.select(
            *self.key,
            *(change(what, k).alias(f"{what}_change_{k}") for k in self.look_back_s for what in ("flow", "speed")),
            total("n").cast("int").alias("n"),
            (2 * total("n")).alias("inputs"),
            (2 * f.col("n")).alias("new_inputs"),
            f.least(*over_all("appended_min_ms")).alias("appended_min_ms"),
            f.greatest(*over_all("appended_max_ms")).alias("appended_max_ms"),
            (total("appended_sum_ms") / (2 * total("n"))).alias("appended_mean_ms"),
            f.greatest(*over_all("intended_max_ns")).alias("intended_max_ns"),
            # All messages of a point have its key, so the seconds before lie in the same partitions.
            "partitions",
        )


def _all_inputs(inputs: Mapping[str, DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), (inputs[name] for name in STREAMS))


def _one_input() -> list[Column]:
    """The columns that say which inputs are behind a row, where each row has one."""
    from pyspark.sql import functions as f

    return [
        f.lit(1).alias("inputs"),
        f.col("appended_ms").alias("appended_min_ms"),
        f.col("appended_ms").alias("appended_max_ms"),
        f.col("appended_ms").cast("double").alias("appended_mean_ms"),
        f.col("intended_ns").alias("intended_max_ns"),
        f.col("partition_bit").alias("partitions"),
    ]


def _joined(inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
    """The joined records, with their event time and with what is known of the two messages behind each."""
    from pyspark.sql import functions as f

    flow = _fields_of(inputs["flow"], (*LANE, "lanes", "flow"))
    speed = _fields_of(inputs["speed"], (*LANE, "speed")).withColumnsRenamed(
        {
            "appended_ms": "speed_appended_ms",
            "intended_ns": "speed_intended_ns",
            "partition_bit": "speed_partition_bit",
        }
    )
    appended, speed_appended = f.col("appended_ms"), f.col("speed_appended_ms")
    return (
        flow.join(speed, [*LANE])
        .where(f.abs(appended - speed_appended) <= parameters["join_bound_ms"])
        .select(
            *LANE,
            "lanes",
            "flow",
            "speed",
            appended.alias("event_ms"),
            f.least(appended, speed_appended).alias("appended_min_ms"),
            f.greatest(appended, speed_appended).alias("appended_max_ms"),
            (appended + speed_appended).alias("appended_sum_ms"),
            f.greatest("intended_ns", "speed_intended_ns").alias("intended_max_ns"),
            f.col("partition_bit").bitwiseOR(f.col("speed_partition_bit")).alias("partitions"),
        )
    )


def _seconds(joined: DataFrame) -> DataFrame:
    """The joined records of each point and second of event time, summed up."""
    from pyspark.sql import functions as f

    window_end_ms = f.expr(f"(event_ms div {WINDOW_MS} + 1) * {WINDOW_MS}").alias("window_end_ms")
    return joined.groupBy("id", window_end_ms).agg(
        f.sum("flow").alias("flow"),
        # Both whole numbers, so that nothing depends on the order in which Spark adds.
        (f.sum("speed") / f.count("*")).alias("speed"),
        f.count("*").alias("n"),
        f.min("appended_min_ms").alias("appended_min_ms"),
        f.max("appended_max_ms").alias("appended_max_ms"),
        f.sum("appended_sum_ms").alias("appended_sum_ms"),
        f.max("intended_max_ns").alias("intended_max_ns"),
        f.bit_or("partitions").alias("partitions"),
    )


def _fields_of(messages: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """These fields of each message, beside its stamps."""
    from pyspark.sql import functions as f

    kinds = dict(MESSAGE)
    parsed = f.from_json("value", _ddl(tuple((name, kinds[name]) for name in names))).alias("parsed")
    stamps = ("appended_ms", "intended_ns", "partition_bit")
    return messages.select(parsed, *stamps).select("parsed.*", *stamps)


def _decoded(output: DataFrame, fields: Fields) -> DataFrame:
    """Adds the fields of each result; what is missing or no JSON of that kind is null."""
    from pyspark.sql import functions as f

    result = f.from_json("value", _ddl(fields)).alias("result")
    return output.select("*", result).select(*output.columns, "result.*")


def _ddl(fields: Fields) -> str:
    """The fields as a schema that ``from_json`` takes."""
    return ", ".join(f"`{name}` {kind}" for name, kind in fields)
