"""Clicks in event-time windows, and the correct answer in PySpark batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import Codec, DelimitedField
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import with_fields
from streamgauge.workloads.clicks import STREAM
from streamgauge.workloads.clicks.parameters import ClickParameters

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.clicks.data import Clicks

WINDOW_MS = 1000


class Windowed(ReferenceWorkload):
    """The number of clicks per page and second of event time."""

    name: ClassVar[str] = "clicks/windowed"
    title: ClassVar[str] = "windowed: clicks per page and second, by the event time in the records"
    kind: ClassVar[ResultKind] = ResultKind.FINAL_PER_KEY
    codec: ClassVar[Codec] = Codec(n_seq=DelimitedField(0), event_ms=DelimitedField(1))
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(STREAM),)
    key: ClassVar[tuple[str, ...]] = ("page", "window_end_ms")
    parameters: ClassVar[type[BaseModel]] = ClickParameters
    late: ClassVar[str] = (
        "a record is late if the newest event time of its partition is out_of_order_ms past the end of its window; "
        "it is dropped, or counted if the window is still open in the engine"
    )

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Clicks:
        from streamgauge.workloads.clicks.data import Clicks

        return Clicks(seed, load, **parameters)

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        return (WINDOW_MS + float(parameters["out_of_order_ms"])) / 1000

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        before = Window.partitionBy("partition").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
        clicks = inputs[STREAM].select(
            "*",
            f.max("event_ms").over(before).alias("newest_ms"),
            f.get(f.split("value", "\t"), f.lit(2)).alias("page"),
            f.expr(f"(event_ms div {WINDOW_MS} + 1) * {WINDOW_MS}").alias("window_end_ms"),
        )
        closed = f.col("newest_ms") >= f.col("window_end_ms") + parameters["out_of_order_ms"]
        late = f.coalesce(closed, f.lit(False))
        in_time = f.count_if(~f.col("late"))

        def of_needed(column: str) -> Column:
            """Late records count as inputs of a result only if it has no others."""
            return f.when(~f.col("late") | f.col("only_late"), f.col(column))

        of_window = Window.partitionBy(*self.key)
        marked = clicks.withColumn("late", late).withColumn("only_late", f.every("late").over(of_window))
        return marked.groupBy(*self.key).agg(
            in_time.cast("int").alias("n_low"),
            f.count("*").cast("int").alias("n_high"),
            f.every("late").alias("optional"),
            f.count(of_needed("n_seq")).cast("int").alias("inputs"),
            f.min(of_needed("appended_ms")).alias("appended_min_ms"),
            f.max(of_needed("appended_ms")).alias("appended_max_ms"),
            f.avg(of_needed("appended_ms")).alias("appended_mean_ms"),
            f.max(of_needed("intended_ns")).alias("intended_max_ns"),
            f.bit_or("partition_bit").alias("partitions"),
        )

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return with_fields(output, "page string, window_end_ms bigint, n int")
