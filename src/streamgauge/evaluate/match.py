"""Compares what came out with what should have come out, and when: one join, one table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from streamgauge.contracts import ANSWER_STAMPS, ReferenceWorkload, RunningWorkload, Workload
from streamgauge.evaluate import running, tally
from streamgauge.evaluate.equality import FLOATS, is_close
from streamgauge.evaluate.facts import PARTS, Facts, Moments
from streamgauge.evaluate.intended import intended
from streamgauge.evaluate.recorded import read_input, read_outputs
from streamgauge.evaluate.visible import PLACE, Visible
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS_PER_TASK = 1_000_000

_SETTINGS = {
    # One plan, known beforehand: re-planning between the stages of a small run takes longer than the stages.
    "spark.sql.adaptive.enabled": "false",
    # A join by sorting leaves its rows in the order in which they are then counted by key.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "true",
    # Rows that lie together by key need not move again to be joined by key and number.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Otherwise each message is parsed a second time, to see beforehand whether its key is null.
    "spark.sql.constraintPropagation.enabled": "false",
}


def match(
    spark: SparkSession, run: RunDir, facts: Facts, workload: Workload, rows: int, visible: Visible | None
) -> pa.Table:
    """The table that ``Tally`` is made of. ``rows`` is about how many records there are to join."""
    moments = facts.moments
    assert moments is not None, "a run without records is not matched"
    configure(spark, rows)
    inputs = inputs_of(spark, run, facts, workload)
    output = read_outputs(spark, run, facts, workload.codec)
    if visible is not None:
        output = visible.stamped(output)
    if isinstance(workload, RunningWorkload):
        keeps_order = facts.manifest.engine.keeps_order
        judged = running.judge(inputs, output, workload, facts.parameters, keeps_order=keeps_order)
    else:
        assert isinstance(workload, ReferenceWorkload), "a workload without results is not matched"
        answer = workload.reference(inputs, facts.parameters)
        results = workload.decode(output, facts.parameters).withColumnRenamed("appended_ms", "emitted_ms")
        judged = judge(compare(answer, results, workload.key))
    return count(judged, moments).toArrow()


def configure(spark: SparkSession, rows: int) -> None:
    """For about this many rows to join."""
    tasks = max(-(-rows // ROWS_PER_TASK), spark.sparkContext.defaultParallelism)
    for name, value in {**_SETTINGS, "spark.sql.shuffle.partitions": str(tasks)}.items():
        spark.conf.set(name, value)


def inputs_of(spark: SparkSession, run: RunDir, facts: Facts, workload: Workload) -> dict[str, DataFrame]:
    """The recorded input, with when each record was to be sent and which partition holds it."""
    assert facts.moments is not None
    intended_ns = intended(run, facts, facts.moments)
    bits = partition_bits(facts)
    return {
        stream.name: read_input(
            spark, run, stream.name, workload.codec, ingested=facts.transport.stamps_handing
        ).withColumns({"intended_ns": intended_ns, "partition_bit": bits[stream.name]})
        for stream in workload.inputs
    }


def partition_bits(facts: Facts) -> dict[str, Column]:
    """One bit of a 64-bit number for each partition of the inputs; 0, where there are too many of them."""
    from pyspark.sql import functions as f

    if sum(stream.partitions for stream in facts.inputs) > tally.PARTITIONS_MAX:
        return {stream.name: f.lit(0).cast("bigint") for stream in facts.inputs}
    bits, first = {}, 0
    for stream in facts.inputs:
        bits[stream.name] = f.expr(f"shiftleft(1L, {first} + partition)")
        first += stream.partitions
    return bits


def compare(answer: DataFrame, results: DataFrame, key: Sequence[str]) -> DataFrame:
    """One row per key of the reference, with the outputs of that key summed up.

    Values other than floating-point numbers are compared by one 64-bit hash, so that they need not travel. Outputs of
    other keys fall out: with an outer join on both sides Spark would have to shuffle and sort a second time.
    """
    from pyspark.sql import functions as f

    kinds = dict(answer.dtypes)
    ingested = "ingested_max_ms" in kinds
    columns = [name for name in answer.columns if name not in (*key, *ANSWER_STAMPS)]
    ranges = [name.removesuffix("_low") for name in columns if name.removesuffix("_low") + "_high" in columns]
    ends = [f"{name}{end}" for name in ranges for end in ("_low", "_high")]
    values = [name for name in columns if name not in ends]
    floats = [name for name in values if kinds[name] in FLOATS]
    exact = [name for name in values if name not in floats]
    left = answer.select(
        *key,
        _digest([f.col(name) for name in exact]).alias("right_digest"),
        *(f.col(name).alias(f"right_{name}") for name in floats),
        *ends,
        (f.col("optional") if "optional" in kinds else f.lit(False)).alias("optional"),
        "inputs",
        f.col("new_inputs" if "new_inputs" in kinds else "inputs").alias("new_inputs"),
        *(
            # Where a reference does not have them: 0 stands for no partition and no moment.
            f.col(name) if name in kinds else f.lit(0).cast("bigint").alias(name)
            for name in ("appended_min_ms", "partitions")
        ),
        "appended_max_ms",
        "appended_mean_ms",
        "intended_max_ns",
        *([f.col("ingested_max_ms")] if ingested else []),
        f.monotonically_increasing_id().alias("answer_id"),
    )
    right = results.select(
        *(f.col(name).cast(kinds[name]).alias(f"output_{name}") for name in key),
        _digest([f.col(name).cast(kinds[name]) for name in exact]).alias("output_digest"),
        *(f.col(name).cast(kinds[name]).alias(f"output_{name}") for name in floats),
        *(f.col(name).cast(kinds[f"{name}_low"]).alias(f"output_{name}") for name in ranges),
        "emitted_ms",
        f.expr(PLACE).alias("place"),
    )
    is_right = reduce(
        lambda one, other: one & other,
        (is_close(f.col(f"right_{name}"), f.col(f"output_{name}"), kinds[name]) for name in floats),
        f.col("right_digest") == f.col("output_digest"),
    )
    for name in ranges:
        is_right &= f.col(f"output_{name}").between(f.col(f"{name}_low"), f.col(f"{name}_high"))
    same_key = reduce(lambda one, other: one & other, (f.col(name) == f.col(f"output_{name}") for name in key))
    pairs = left.join(right, same_key, "left").withColumn("is_right", f.coalesce(is_right, f.lit(False)))
    right_ms, wrong_ms = _where("is_right", "emitted_ms"), _where("not is_right", "emitted_ms")
    return pairs.groupBy(*key).agg(
        f.min("answer_id").alias("first_answer"),
        f.max("answer_id").alias("last_answer"),
        f.max("optional").alias("optional"),
        f.max("inputs").alias("inputs"),
        f.max("new_inputs").alias("new_inputs"),
        f.min("appended_min_ms").alias("appended_min_ms"),
        f.bit_or("partitions").alias("partitions"),
        f.max("appended_max_ms").alias("appended_max_ms"),
        f.max("appended_mean_ms").alias("appended_mean_ms"),
        f.max("intended_max_ns").alias("intended_max_ns"),
        *([f.max("ingested_max_ms").alias("ingested_max_ms")] if ingested else []),
        f.count("emitted_ms").alias("outputs"),
        f.count_if("is_right").alias("right_outputs"),
        f.min("emitted_ms").alias("first_ms"),
        f.min(right_ms).alias("first_right_ms"),
        f.max(right_ms).alias("last_right_ms"),
        f.max(wrong_ms).alias("last_wrong_ms"),
        f.min(_where("is_right", "place")).alias("first_right_place"),
        f.max(_where("is_right", "place")).alias("last_right_place"),
        f.max(_where("not is_right", "place")).alias("last_wrong_place"),
    )


def judge(keys: DataFrame) -> DataFrame:
    """Adds the fate of each key, and the moment of its answer. A key that may be missing, and is, falls out."""
    from pyspark.sql import functions as f

    # What a reader of the key is left with.
    ends_right = f.expr(
        "last_wrong_ms is null or last_right_ms > last_wrong_ms"
        " or last_right_ms = last_wrong_ms and last_right_place > last_wrong_place"
    )
    fate = f.when(f.col("outputs") == 0, tally.MISSING).when(ends_right, tally.MATCHED).otherwise(tally.WRONG)
    was_right = f.expr(
        "first_right_ms < last_wrong_ms or first_right_ms = last_wrong_ms and first_right_place < last_wrong_place"
    )
    wrong_outputs = f.col("outputs") - f.col("right_outputs")
    came_out = keys.where(~f.col("optional") | (f.col("outputs") > 0))
    return came_out.withColumn("fate", fate).withColumns(
        {
            "answered_ms": f.when(f.col("fate") == tally.MATCHED, f.col("first_right_ms")).otherwise(f.col("first_ms")),
            "duplicates": f.greatest(f.col("right_outputs") - 1, f.lit(0)),
            "intermediate": wrong_outputs - (f.col("fate") == tally.WRONG).cast("int"),
            "reverted": f.coalesce((f.col("fate") == tally.MATCHED) & was_right, f.lit(False)).cast("int"),
            "repeated": (f.col("first_answer") != f.col("last_answer")).cast("int"),
        }
    )


def count(keys: DataFrame, moments: Moments) -> DataFrame:
    """Groups keys of the same fate, phase, seconds and latencies."""
    from pyspark.sql import functions as f

    ingested = "ingested_max_ms" in keys.columns

    def second_of(ms: str) -> Column:
        return f.expr(f"cast(floor(({ms} - {moments.load_start_ms}) / 1000) as int)")

    def rest_of_second(ms: str) -> Column:
        """For the mean over a second: the milliseconds of it that follow, for each new input."""
        return f.sum(f.expr(f"new_inputs * (1000 - pmod({ms} - {moments.load_start_ms}, 1000))"))

    anchor_ns, anchor_ms = f.col("intended_max_ns"), f.expr(f"intended_max_ns div {NS_PER_MS}")
    matched, missing = f.col("fate") == tally.MATCHED, f.col("fate") == tally.MISSING
    length_ns = moments.measured_end_ns - moments.measured_start_ns
    load_end_ms = moments.load_end_ns // NS_PER_MS
    burst_end_ns = moments.burst_end_ns if moments.burst_end_ns is not None else moments.load_start_ns
    drain_end_ms = moments.drain_end_ns // NS_PER_MS
    # What did not come by then takes at least as long.
    until_ms = f.when(matched, f.col("answered_ms")).when(missing, f.lit(drain_end_ms))
    no_fault = moments.first_fault_ns is None
    before_fault = f.lit(no_fault) | (f.col("last_wrong_ms") < (moments.first_fault_ns or 0) // NS_PER_MS)
    open_at_end = (f.col("appended_max_ms") < load_end_ms) & (missing | (f.col("answered_ms") >= load_end_ms))
    groups: Sequence[Column] = (
        f.col("fate"),
        f.when(anchor_ns < moments.measured_start_ns, tally.WARMUP)
        .when(anchor_ns < moments.measured_end_ns, tally.MEASURED)
        .otherwise(tally.TAIL)
        .alias("phase"),
        f.expr(f"(intended_max_ns - {moments.measured_start_ns}) * {PARTS} div {length_ns}").alias("part"),
        f.expr(f"(intended_max_ns - {moments.load_start_ns}) div {NS_PER_S}").alias("second"),
        second_of("appended_max_ms").alias("appended_second"),
        second_of("answered_ms").alias("answered_second"),
        (anchor_ns < burst_end_ns).cast("int").alias("in_burst"),
        f.col("partitions"),
        (until_ms - anchor_ms).alias("total_ms"),
        (until_ms - f.col("appended_max_ms")).alias("latest_ms"),
        (until_ms - f.col("appended_mean_ms")).alias("average_ms"),
        *([(until_ms - f.col("ingested_max_ms")).alias("processing_time_ms")] if ingested else []),
    )
    return keys.groupBy(*groups).agg(
        f.count("*").alias("rows"),
        f.sum("inputs").alias("inputs"),
        f.sum("new_inputs").alias("new_inputs"),
        f.sum(f.when(open_at_end, f.col("new_inputs"))).alias("open_at_end"),
        f.sum("outputs").alias("outputs"),
        f.sum("duplicates").alias("duplicates"),
        f.sum("intermediate").alias("intermediate"),
        f.sum("reverted").alias("reverted"),
        f.count_if((f.col("fate") == tally.WRONG) & before_fault).alias("wrong_before_fault"),
        f.sum("repeated").alias("repeated_keys"),
        rest_of_second("appended_max_ms").alias("appended_rest_ms"),
        rest_of_second("greatest(answered_ms, appended_max_ms)").alias("answered_rest_ms"),
        f.max("appended_min_ms").alias("appended_min_ms"),
        f.max("appended_max_ms").alias("appended_max_ms"),
        f.max("answered_ms").alias("answered_max_ms"),
    )


def _digest(columns: Sequence[Column]) -> Column:
    """A hash in which a null has its place: Spark's own skips nulls, so (1, null) would equal (null, 1)."""
    from pyspark.sql import functions as f

    if not columns:
        return f.lit(0).cast("bigint")
    nulls = reduce(
        lambda one, other: one + other,
        (f.when(column.isNull(), 2**place).otherwise(0) for place, column in enumerate(columns)),
    )
    return f.xxhash64(*columns, nulls)


def _where(condition: str, column: str) -> Column:
    from pyspark.sql import functions as f

    return f.expr(f"if({condition}, {column}, null)")
