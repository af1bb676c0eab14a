"""Compares running results with what they may be: each is the aggregate of the first ``n`` contributions to its key.

One row for each input record comes out, as ``match.judge`` gives it for other kinds: a record is answered when all that
it contributes is covered by a right result (docs/reference/measurement.md, *Results*).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from streamgauge.contracts import RunningWorkload
from streamgauge.evaluate import tally
from streamgauge.evaluate.equality import is_close
from streamgauge.evaluate.metrics.clock import INVALID_STEP_MS
from streamgauge.evaluate.visible import PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_COUNTED = 100
"""A result that counts more than about this many times the contributions to its key is not taken for a repetition."""


def judge(
    inputs: Mapping[str, DataFrame],
    output: DataFrame,
    workload: RunningWorkload,
    parameters: Mapping[str, Any],
    *,
    keeps_order: bool = True,
) -> DataFrame:
    """The fate of each input record that contributes, and the moment of its answer.

    ``keeps_order`` is whether the engine takes the records of a partition in their order.
    """
    from pyspark.sql import functions as f

    key = list(workload.key)
    ranked = _ranked(workload.contributions(inputs, parameters), workload, parameters, keeps_order)
    results = results_of(output, workload, parameters, dict(ranked.dtypes))
    same = [f.col(name) == f.col(f"found_{name}") for name in key]
    pairs = ranked.join(_with_probes(results), [*same, f.col("rank") == f.col("place_n")], "left").withColumn(
        "is_right",
        f.coalesce(~f.col("is_probe") & _is_right(workload, parameters, dict(ranked.dtypes)), f.lit(False)),
    )
    # One row for each contribution again: there may be several results of one n.
    contributions = pairs.groupBy(*key, "rank").agg(
        *(f.first(name).alias(name) for name in ("n_seq", "appended_ms", "intended_ns", "partition_bit", "total")),
        f.count_if(~f.col("is_probe")).alias("outputs"),
        f.count_if("is_right").alias("right_outputs"),
        f.count_if(f.expr("is_probe and n > total")).alias("too_high"),
        f.min(f.expr("if(is_right, emitted_ms, null)")).alias("right_ms"),
        f.min(f.expr(f"if({_FLAWED}, emitted_ms, null)")).alias("flawed_ms"),
        f.expr("max_by(is_right, if(is_probe, null, struct(emitted_ms, place)))").alias("last_is_right"),
    )
    last = results.groupBy(*(f"found_{name}" for name in key)).agg(
        f.max_by("n", f.struct("emitted_ms", "place")).alias("last_n"),
        f.max("emitted_ms").alias("last_ms"),
    )
    return _by_record(_fates(contributions.join(last, same, "left"), key))


_FLAWED = f"""
    not is_probe and not is_right
    or is_probe and (n is null or n < 1 or n > total)
    or is_right and emitted_ms < appended_ms - {INVALID_STEP_MS:.0f}
"""
"""Of a pair: no first ``n`` contributions give the result, or not all of them were there when it was emitted.

Two servers may stamp the two: their clocks may differ by as much as a clock may step."""


def _with_probes(results: DataFrame) -> DataFrame:
    """Each result twice: for the contribution of its ``n``, and for an early one, which knows how many there are.

    So a result that is too high is found without another pass over the contributions.
    """
    from pyspark.sql import functions as f

    places = f.expr(f"array(n, coalesce(n div {MOST_COUNTED} + 1, 1))")
    return results.select("*", f.posexplode(places).alias("copy", "place_n")).withColumn("is_probe", f.expr("copy = 1"))


def _ranked(
    contributions: DataFrame, workload: RunningWorkload, parameters: Mapping[str, Any], keeps_order: bool
) -> DataFrame:
    """Each contribution with its rank, the aggregates of the first ones up to it, and those of all."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_key = Window.partitionBy(*workload.key)
    in_order = of_key.orderBy("appended_ms", "partition", "offset")
    # Contributions of one record to one key are one after the other, in any order.
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    aggregates = workload.aggregates(parameters)
    one_partition = f.min("partition").over(of_key) == f.max("partition").over(of_key)
    return contributions.select(
        *workload.key,
        "n_seq",
        "appended_ms",
        "intended_ns",
        "partition_bit",
        f.row_number().over(in_order).cast("bigint").alias("rank"),
        f.count("*").over(of_key).alias("total"),
        (f.lit(keeps_order and len(workload.inputs) == 1) & one_partition).alias("in_order"),
        *(column.over(so_far).alias(f"right_{name}") for name, column in aggregates.items()),
        *(column.over(of_key).alias(f"final_{name}") for name, column in aggregates.items()),
    )


def results_of(
    output: DataFrame, workload: RunningWorkload, parameters: Mapping[str, Any], kinds: Mapping[str, str]
) -> DataFrame:
    """The decoded results: the key as ``found_…``, ``n``, the values, when each was emitted and its place."""
    from pyspark.sql import functions as f

    decoded = workload.decode(output, parameters)
    return decoded.select(
        *(f.col(name).cast(kinds[name]).alias(f"found_{name}") for name in workload.key),
        f.col("n").try_cast("bigint").alias("n"),
        *(f.col(name).cast(kinds[f"final_{name}"]).alias(name) for name in workload.aggregates(parameters)),
        f.col("appended_ms").alias("emitted_ms"),
        f.expr(PLACE).alias("place"),
    )


def _is_right(workload: RunningWorkload, parameters: Mapping[str, Any], kinds: Mapping[str, str]) -> Column:
    """Exact where the order of the contributions is known, and at the end; else possible."""
    from pyspark.sql import functions as f

    names = list(workload.aggregates(parameters))
    exact = reduce(
        lambda one, other: one & other,
        (is_close(f.col(f"right_{name}"), f.col(name), kinds[f"final_{name}"]) for name in names),
        f.col("n").isNotNull(),
    )
    possible = workload.possible(parameters)
    if possible is None:
        possible = f.col("n").isNotNull()
    certain = f.col("in_order") | (f.col("rank") == f.col("total"))
    return f.when(certain, exact).otherwise(f.col("n").isNotNull() & possible)


def _fates(contributions: DataFrame, key: list[str]) -> DataFrame:
    """What became of each contribution.

    Covered is what the last result of the key counts. Where that one is not right, neither is the key's last
    contribution, nor any that no right result covered.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    # From the highest rank down: a frame that ends with the partition would be computed anew for each row.
    from_here_on = (
        Window.partitionBy(*key).orderBy(f.desc("rank")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    of_key = Window.partitionBy(*key)
    # The last result belongs to the contribution of its n; a higher one, or none, belongs to no contribution.
    last_is_right = f.max(f.expr("rank = last_n and last_is_right")).over(of_key)
    covered = contributions.withColumns(
        {
            "covered_ms": f.min("right_ms").over(from_here_on),
            "ends_right": f.coalesce(last_is_right, f.lit(False)),
            "wrong_from_ms": f.coalesce(f.min("flawed_ms").over(of_key), f.col("last_ms")),
            "miscounted": f.sum(f.expr("too_high + outputs - right_outputs")).over(of_key),
        }
    )
    # A result without a number, as of a value that cannot be read, is one all the same: it has no n, but a moment.
    missing = f.col("last_ms").isNull() | (f.col("ends_right") & (f.col("rank") > f.col("last_n")))
    wrong = ~f.col("ends_right") & ((f.col("rank") == f.col("total")) | f.col("covered_ms").isNull())
    fate = f.when(missing, tally.MISSING).when(wrong, tally.WRONG).otherwise(tally.MATCHED)
    return covered.withColumn("fate", fate)


def _by_record(contributions: DataFrame) -> DataFrame:
    """A record is answered when all its contributions are, wrong when one is wrong, else missing when one is."""
    from pyspark.sql import functions as f

    def any_is(fate: int) -> Column:
        return f.bool_or(f.col("fate") == fate)

    fate = f.when(any_is(tally.WRONG), tally.WRONG).when(any_is(tally.MISSING), tally.MISSING).otherwise(tally.MATCHED)
    answered_ms = f.max(f.coalesce("covered_ms", "last_ms"))
    return (
        contributions.groupBy("n_seq")
        .agg(
            fate.alias("fate"),
            f.first("appended_ms").alias("appended_max_ms"),
            f.first("intended_ns").alias("intended_max_ns"),
            f.first("partition_bit").alias("partitions"),
            answered_ms.alias("answered_ms"),
            f.sum("outputs").alias("outputs"),
            f.sum(f.greatest(f.col("right_outputs") - 1, f.lit(0))).alias("duplicates"),
            f.sum(f.col("outputs") - f.col("right_outputs")).alias("wrong_outputs"),
            # A key that ends wrong may be so because of its first result that was.
            f.min(f.expr(f"if(fate = {tally.WRONG}, wrong_from_ms, null)")).alias("last_wrong_ms"),
            # Summed by ``match.count``, and taken apart from intermediate results by ``Tally.of``.
            f.sum(f.expr("if(rank = total and not ends_right, miscounted, 0)")).alias("intermediate"),
        )
        .withColumns(
            {
                "appended_min_ms": f.col("appended_max_ms"),
                "appended_mean_ms": f.col("appended_max_ms").cast("double"),
                "inputs": f.lit(1),
                "new_inputs": f.lit(1),
                # A result that no first n contributions give answers nothing, whatever comes after it.
                "outputs": f.col("outputs") - f.col("wrong_outputs"),
                "reverted": f.lit(0),
                "repeated": f.lit(0),
            }
        )
    )
