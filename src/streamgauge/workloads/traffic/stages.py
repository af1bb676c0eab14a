"""Road traffic, stage by stage: what the studies compute, and the correct answers in PySpark batch.

Written only from the definitions (docs/reference/workloads.md): an engine's query and the answer it is checked against
share no code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import Codec, JsonField
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import all_inputs, one_input
from streamgauge.workloads.traffic import STREAMS
from streamgauge.workloads.traffic.parameters import SlidingParameters, StatefulParameters, TrafficParameters

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.traffic.data import Traffic

Fields = tuple[tuple[str, str], ...]
"""Name and Spark type of each field of a JSON object."""

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
"""In order; a message has either flow or speed."""

LANE = ("timestamp", "id", "lane")
"""The join key of flow and speed messages; it occurs once in each stream of a run."""


class TrafficWorkload(ReferenceWorkload):
    """Base of all stages: the data, and the codec of a message."""

    codec: ClassVar[Codec] = Codec(n_seq=JsonField("n_seq"))
    inputs: ClassVar[tuple[InputStream, ...]] = tuple(InputStream(name, 1 / len(STREAMS)) for name in STREAMS)
    parameters: ClassVar[type[BaseModel]] = TrafficParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Traffic:
        from streamgauge.workloads.traffic.data import Traffic

        # A burst comes from more points instead of repeating the same ones, so that a result has the same number of
        # inputs within a burst as between bursts (3.17 in the paper).
        return Traffic.for_rate(seed, load.busiest_per_s, parameters["keys"])


class Ingest(TrafficWorkload):
    """Publish every message unchanged."""

    name: ClassVar[str] = "traffic/ingest"
    title: ClassVar[str] = "ingest: publish every message unchanged"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE
    key: ClassVar[tuple[str, ...]] = ("n_seq",)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return all_inputs(inputs).select("n_seq", f.col("value").alias("message"), *one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return output.withColumns({"n_seq": self.codec.n_seq.column(), "message": f.col("value")})


class Parse(TrafficWorkload):
    """Parse every message and publish its fields; an absent field is missing or null."""

    name: ClassVar[str] = "traffic/parse"
    title: ClassVar[str] = "parse: parse every message, publish its fields"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE
    key: ClassVar[tuple[str, ...]] = ("n_seq",)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        # Canonical except for the spaces with which the data set pads its numbers.
        message = f.regexp_replace(f.col("value").cast("string"), '": ++', '":')
        return all_inputs(inputs).select("n_seq", message.alias("message"), *one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return output.withColumns({"n_seq": self.codec.n_seq.column(), "message": _canonical()})


class Stateful(TrafficWorkload):
    """A stage whose results need several messages. A result is a JSON object."""

    kind: ClassVar[ResultKind] = ResultKind.FINAL_PER_KEY
    parameters: ClassVar[type[BaseModel]] = StatefulParameters

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters["out_of_order_ms"]) / 1000

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return _decoded(output, self.fields(parameters))

    @abstractmethod
    def fields(self, parameters: Mapping[str, Any]) -> Fields:
        """The fields of a result."""


class Join(Stateful):
    """Flow and speed of one lane in one record, if appended at most the join bound apart."""

    name: ClassVar[str] = "traffic/join"
    title: ClassVar[str] = "join: flow and speed of each lane in one record"
    key: ClassVar[tuple[str, ...]] = LANE

    def fields(self, parameters: Mapping[str, Any]) -> Fields:
        return (
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
            "lanes",
            "flow",
            "speed",
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
        """The second must be over, and no speed message may still match one of its flow messages."""
        return super().settles_s(parameters) + (WINDOW_MS + float(parameters["join_bound_ms"])) / 1000


class Tumbling(Windowed):
    """The number of cars on all lanes, and their mean speed."""

    name: ClassVar[str] = "traffic/tumbling"
    title: ClassVar[str] = "tumbling: cars and mean speed per point and second"

    def fields(self, parameters: Mapping[str, Any]) -> Fields:
        return (
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


class Sliding(Windowed):
    """The relative change of flow and speed of a point against the seconds ``lookbacks_s`` before."""

    name: ClassVar[str] = "traffic/sliding"
    title: ClassVar[str] = "sliding: change of flow and speed per point against earlier seconds"
    parameters: ClassVar[type[BaseModel]] = SlidingParameters

    def fields(self, parameters: Mapping[str, Any]) -> Fields:
        changes = tuple(
            (f"{what}_change_{k}", "double") for k in parameters["lookbacks_s"] for what in ("flow", "speed")
        )
        return (("id", "string"), ("window_end_ms", "bigint"), *changes, ("n", "int"))

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        lookbacks_s = parameters["lookbacks_s"]
        # All seconds of a point in one partition, so that counting and looking back need no further shuffle.
        seconds = _seconds(_joined(inputs, parameters).repartition("id"))
        of_point = Window.partitionBy("id").orderBy("window_end_ms")
        stamps = ("appended_min_ms", "appended_max_ms", "appended_sum_ms", "intended_max_ns", "partitions")
        second = f.struct("flow", "speed", "n", *stamps)
        before = {k: f"before_{k}" for k in lookbacks_s}
        looked_back = seconds.select(
            "*",
            *(
                # A frame of one value: the row of exactly that second, if any.
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
            *(change(what, k).alias(f"{what}_change_{k}") for k in lookbacks_s for what in ("flow", "speed")),
            total("n").cast("int").alias("n"),
            (2 * total("n")).alias("inputs"),
            (2 * f.col("n")).alias("new_inputs"),
            f.least(*over_all("appended_min_ms")).alias("appended_min_ms"),
            f.greatest(*over_all("appended_max_ms")).alias("appended_max_ms"),
            (total("appended_sum_ms") / (2 * total("n"))).alias("appended_mean_ms"),
            f.greatest(*over_all("intended_max_ns")).alias("intended_max_ns"),
            # All messages of a point have its key, so earlier seconds are in the same partitions.
            "partitions",
        )


def _joined(inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
    """The joined records, with their event time and the stamps of their two messages."""
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
    """The sums of the joined records of each point and second of event time."""
    from pyspark.sql import functions as f

    window_end_ms = f.expr(f"(event_ms div {WINDOW_MS} + 1) * {WINDOW_MS}").alias("window_end_ms")
    return joined.groupBy("id", window_end_ms).agg(
        f.sum("flow").alias("flow"),
        # Integers, so that the result does not depend on the order of summation.
        (f.sum("speed") / f.count("*")).alias("speed"),
        f.count("*").alias("n"),
        f.min("appended_min_ms").alias("appended_min_ms"),
        f.max("appended_max_ms").alias("appended_max_ms"),
        f.sum("appended_sum_ms").alias("appended_sum_ms"),
        f.max("intended_max_ns").alias("intended_max_ns"),
        f.bit_or("partitions").alias("partitions"),
    )


def _fields_of(messages: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """These fields of each message, with its stamps."""
    from pyspark.sql import functions as f

    kinds = dict(MESSAGE)
    parsed = f.from_json("value", _ddl(tuple((name, kinds[name]) for name in names))).alias("parsed")
    stamps = ("appended_ms", "intended_ns", "partition_bit")
    return messages.select(parsed, *stamps).select("parsed.*", *stamps)


def _canonical() -> Column:
    """The message in ``value`` in a canonical form: compact, with the fields in the order of ``MESSAGE``.

    Text that already has this form is used unchanged: a regular expression takes a third of the time of parsing.
    """
    from pyspark.sql import functions as f

    text = f.col("value").cast("string")
    return f.when(text.rlike(_compact_message()), text).otherwise(f.to_json(f.from_json(text, _ddl(MESSAGE))))


def _compact_message() -> str:
    """A regular expression for compact messages whose values have only one spelling.

    So strings contain no escapes, and numbers are short enough for their type.
    """
    values = {
        "string": r'"[^"\\\x00-\x1f]*+"',
        "int": "(?:0|-?+[1-9][0-9]{0,8}+)",
        "bigint": "(?:0|-?+[1-9][0-9]{0,17}+)",
    }
    fields = ""
    for name, kind in MESSAGE:
        field = f'{"," if fields else ""}"{name}":{values[kind]}'
        fields += f"(?:{field})?+" if name in STREAMS else field
    return rf"\A\{{{fields}\}}\z"


def _decoded(output: DataFrame, fields: Fields) -> DataFrame:
    """Adds the fields of each result; missing or invalid ones are null."""
    from pyspark.sql import functions as f

    result = f.from_json("value", _ddl(fields)).alias("result")
    return output.select("*", result).select(*output.columns, "result.*")


def _ddl(fields: Fields) -> str:
    """The fields as a schema for ``from_json``."""
    return ", ".join(f"`{name}` {kind}" for name, kind in fields)
