"""Revenue per gem pack and window, and purchases that followed an ad: the correct answers in PySpark batch.

Event time is in the records. A window begins ``window_s`` before its end; a record at the end of a window
belongs to the next ones only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import BinaryField, Codec, with_numbers
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import with_fields
from streamgauge.workloads.games import ADS, PURCHASES
from streamgauge.workloads.games.parameters import AggregationParameters, JoinParameters

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.games.data import Games

_USER, _GEM_PACK, _PRICE = (BinaryField(offset, 4) for offset in (16, 20, 24))


class Windowed(ReferenceWorkload):
    """Base of both: results of a window of event time."""

    kind: ClassVar[ResultKind] = ResultKind.FINAL_PER_KEY
    codec: ClassVar[Codec] = Codec(n_seq=BinaryField(0), event_ms=BinaryField(8), text=False)
    late: ClassVar[str] = "event time advances with the load plan, so no record is late"
    fields: ClassVar[str]
    """The fields of a result, a JSON object, as Spark writes a schema."""

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        disorder_ms = parameters["out_of_order_ms"] + parameters["partition_skew_ms"]
        return float(parameters["window_s"] + disorder_ms / 1000)

    def pause_s(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters["slide_s"])

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return with_fields(output, self.fields)


class Aggregation(Windowed):
    """The sum of the prices of each gem pack in a sliding window."""

    name: ClassVar[str] = "games/aggregation"
    title: ClassVar[str] = "aggregation: revenue of each gem pack in a sliding window of event time"
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(PURCHASES),)
    key: ClassVar[tuple[str, ...]] = ("gem_pack", "window_end_ms")
    parameters: ClassVar[type[BaseModel]] = AggregationParameters
    fields: ClassVar[str] = "gem_pack int, window_end_ms bigint, revenue bigint"

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Games:
        from streamgauge.workloads.games.data import Games

        return Games(seed, load, gem_packs=parameters["gem_packs"], keys=parameters["keys"])

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        purchases = with_numbers(inputs[PURCHASES], {"gem_pack": _GEM_PACK, "price": _PRICE})
        return _summed(purchases, parameters, ["gem_pack"], {"revenue": "price"})


class Join(Windowed):
    """Pairs of a purchase and an ad of the same user and gem pack in a window.

    The inputs of a result are all records of its window, by the study's definition: the window must be complete.
    """

    name: ClassVar[str] = "games/join"
    title: ClassVar[str] = "join: purchases and ads of the same user and gem pack in a sliding window of event time"
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(PURCHASES, 0.5), InputStream(ADS, 0.5))
    key: ClassVar[tuple[str, ...]] = ("window_end_ms", "purchase", "ad")
    parameters: ClassVar[type[BaseModel]] = JoinParameters
    fields: ClassVar[str] = "window_end_ms bigint, purchase bigint, ad bigint, user int, gem_pack int, price int"

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Games:
        from streamgauge.workloads.games.data import Games

        names = ("gem_packs", "keys", "selectivity_percent")
        return Games(seed, load, **{name: parameters[name] for name in names})

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        same = ("window_end_ms", "user", "gem_pack")
        stamps = ["event_ms", "appended_ms", "intended_ns", "partition_bit"]
        stamps += ["ingested_ms"] if "ingested_ms" in inputs[PURCHASES].columns else []
        who = {"user": _USER, "gem_pack": _GEM_PACK}
        ints = {name: f.col(name).cast("int") for name in who}
        ints["first_end_ms"] = _first_end_ms(parameters)
        purchases = _in_windows(with_numbers(inputs[PURCHASES], {**who, "price": _PRICE}).withColumns(ints), parameters)
        ads = _in_windows(with_numbers(inputs[ADS], who).withColumns(ints), parameters)
        pairs = purchases.select(*same, f.col("n_seq").alias("purchase"), f.col("price").cast("int")).join(
            ads.select(*same, f.col("n_seq").alias("ad")), [*same]
        )
        everything = inputs[PURCHASES].select(*stamps).unionByName(inputs[ADS].select(*stamps))
        whole = _summed(everything, parameters).withColumnRenamed("new_inputs", "first_inputs")
        # The records that no earlier window has count once, with one pair of the window.
        is_one = f.row_number().over(Window.partitionBy("window_end_ms").orderBy("purchase", "ad")) == 1
        return (
            pairs.select(*self.key, "user", "gem_pack", "price")
            .join(whole, "window_end_ms")
            .withColumn("new_inputs", f.when(is_one, f.col("first_inputs")).otherwise(0))
            .drop("first_inputs")
        )


def _summed(
    records: DataFrame, parameters: Mapping[str, Any], key: Sequence[str] = (), sums: Mapping[str, str] | None = None
) -> DataFrame:
    """For each window, by a key if one is given: sums by their names, how many inputs it has, and their stamps.

    Windows consist of whole slides. Records are summed up by slide, once, instead of in each window that they are in.
    """
    from pyspark.sql import functions as f

    sums = sums or {}
    handed, handed_last = [], []
    if "ingested_ms" in records.columns:
        handed = [f.count("ingested_ms").alias("handed"), f.max("ingested_ms").alias("ingested_max_ms")]
        # Unknown as long as one of them was not handed over.
        handed_last = [f.when(f.sum("handed") == f.sum("inputs"), f.max("ingested_max_ms")).alias("ingested_max_ms")]
    slides = (
        records.withColumn("first_end_ms", _first_end_ms(parameters))
        .groupBy(*key, "first_end_ms")
        .agg(
            *(f.sum(column).alias(name) for name, column in sums.items()),
            f.count("*").alias("inputs"),
            f.min("appended_ms").alias("appended_min_ms"),
            f.max("appended_ms").alias("appended_max_ms"),
            f.avg("appended_ms").alias("appended_mean_ms"),
            f.max("intended_ns").alias("intended_max_ns"),
            f.bit_or("partition_bit").alias("partitions"),
            *handed,
        )
    )
    return (
        _in_windows(slides, parameters)
        .groupBy(*key, "window_end_ms")
        .agg(
            *(f.sum(name).alias(name) for name in sums),
            f.sum("inputs").cast("int").alias("inputs"),
            f.coalesce(f.sum(f.when(f.col("first"), f.col("inputs"))), f.lit(0)).cast("int").alias("new_inputs"),
            f.min("appended_min_ms").alias("appended_min_ms"),
            f.max("appended_max_ms").alias("appended_max_ms"),
            (f.sum(f.col("appended_mean_ms") * f.col("inputs")) / f.sum("inputs")).alias("appended_mean_ms"),
            f.max("intended_max_ns").alias("intended_max_ns"),
            f.bit_or("partitions").alias("partitions"),
            *handed_last,
        )
    )


def _first_end_ms(parameters: Mapping[str, Any]) -> Column:
    """The end of the first window that a record is in, which is that of its slide."""
    from pyspark.sql import functions as f

    slide_ms = 1000 * parameters["slide_s"]
    return f.expr(f"(event_ms div {slide_ms} + 1) * {slide_ms}")


def _in_windows(rows: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
    """A row for each window that one with ``first_end_ms`` is in: its end, and whether it is the first."""
    from pyspark.sql import functions as f

    slide_ms, count = 1000 * parameters["slide_s"], parameters["window_s"] // parameters["slide_s"]
    number = f.explode(f.sequence(f.lit(0), f.lit(count - 1))).alias("number")
    return rows.select("*", number).withColumns(
        {"window_end_ms": f.expr(f"first_end_ms + number * {slide_ms}"), "first": f.expr("number = 0")}
    )
