"""Judges the running results of one slice, with what must be known of the slices before it.

Carried from slice to slice are, for each key, how many contributions there were, the largest ``n`` of a right result
and the last result; the contributions of records that are not answered yet; and results that are ahead of the
contributions recorded so far. Slices are cut by the moment of the append, so every result of a slice comes after those
of the slices before, and the outcome is that of the whole run (docs/reference/measurement.md, *Slices*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.contracts import RunningWorkload
from streamgauge.evaluate import running, tally
from streamgauge.jvm.spark import literal_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTS = ("keys", "open", "early")
_STAMPS = ("n_seq", "appended_ms", "intended_ns", "partition_bit")


@dataclass(frozen=True)
class Judged:
    """``records`` is as ``running.judge`` gives it, of those that are decided; the others are carried on."""

    records: DataFrame
    keys: DataFrame
    """``count``, ``answered_n`` (0: none), ``last_n``, ``last_ms`` and ``top_n_seq``, the record of the last
    contribution."""
    open: DataFrame
    """Contributions of records that are not decided."""
    early: DataFrame
    """Results that are ahead of the contributions."""
    repeated: int
    """Right results of contributions whose records were decided in an earlier slice."""
    lost_later: int
    wrong_later: int

    def write(self, directory: Path) -> None:
        """Write what is carried on."""
        for name in PARTS:
            frame: DataFrame = getattr(self, name)
            frame.coalesce(1).write.mode("overwrite").parquet(str(directory / name))


def judge(
    spark: SparkSession,
    inputs: Mapping[str, DataFrame],
    output: DataFrame,
    workload: RunningWorkload,
    parameters: Mapping[str, Any],
    before: Path | None,
    *,
    last: bool,
) -> Judged:
    """``before``: the directory with what the slice before carried on. In the last slice everything is decided."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    key = list(workload.key)
    new = workload.contributions(inputs, parameters)
    kinds = dict(new.dtypes)
    carried = _read(spark, before, {name: kinds[name] for name in key})
    known = carried["keys"].select(*key, f.col("count").alias("count_before"))
    in_order = Window.partitionBy(*key).orderBy("appended_ms", "partition", "offset")
    ranked = new.join(known, key, "left").select(
        *key,
        *_STAMPS,
        (f.coalesce("count_before", f.lit(0)) + f.row_number().over(in_order)).cast("bigint").alias("rank"),
        f.lit(None).cast("bigint").alias("covered_ms"),
        f.lit(0).cast("bigint").alias("right_outputs"),
    )
    contributions = carried["open"].unionByName(ranked).persist()
    results = running.results_of(output, workload, parameters, kinds).persist()
    keys = _with_new(carried["keys"], ranked, results, key)
    right, early = _placed(results.unionByName(carried["early"]), keys, key)
    keys = _with_answered(keys, right, key).persist()
    covered = _covered(contributions, right, key).persist()
    repeated = right.join(contributions, [*_same(key), f.col("n") == f.col("rank")], "left_anti")
    times = repeated.agg(f.coalesce(f.sum("times"), f.lit(0))).first()
    assert times is not None
    if last:
        decided = _fates(covered, keys, key)
        lost, wrong = _later(covered, keys, key)
        none = covered.limit(0)
        return Judged(running.by_record(decided), keys, none, early, int(times[0]), lost, wrong)
    answered = f.min(f.col("covered_ms").isNotNull()).over(Window.partitionBy("n_seq"))
    split = covered.withColumn("is_answered", answered).persist()
    decided = split.where("is_answered").withColumns(
        {"fate": f.lit(tally.MATCHED), "last_ms": f.lit(None).cast("bigint")}
    )
    still_open = split.where("not is_answered").drop("is_answered")
    return Judged(running.by_record(_as_judged(decided)), keys, still_open, early, int(times[0]), 0, 0)


def _read(spark: SparkSession, before: Path | None, key: Mapping[str, str]) -> dict[str, DataFrame]:
    of_key = ", ".join(f"`{name}` {kind}" for name, kind in key.items())
    found_key = ", ".join(f"`found_{name}` {kind}" for name, kind in key.items())
    schemas = {
        "keys": f"{of_key}, count bigint, answered_n bigint, last_n bigint, last_ms bigint, top_n_seq bigint",
        "open": f"{of_key}, n_seq bigint, appended_ms bigint, intended_ns bigint, partition_bit bigint, rank bigint, "
        "covered_ms bigint, right_outputs bigint",
        "early": f"{found_key}, n bigint, emitted_ms bigint, place bigint",
    }
    if before is None:
        return {name: spark.createDataFrame([], schema) for name, schema in schemas.items()}
    return {name: spark.read.schema(schema).parquet(literal_path(before / name)) for name, schema in schemas.items()}


def _same(key: list[str]) -> list[Column]:
    from pyspark.sql import functions as f

    return [f.col(name) == f.col(f"found_{name}") for name in key]


def _with_new(keys: DataFrame, ranked: DataFrame, results: DataFrame, key: list[str]) -> DataFrame:
    """The keys with the contributions and the last result of this slice. A result may have a key of its own."""
    from pyspark.sql import functions as f

    added = ranked.groupBy(*key).agg(f.max("rank").alias("new_count"), f.max_by("n_seq", "rank").alias("new_top"))
    last = results.groupBy(*(f.col(f"found_{name}").alias(name) for name in key)).agg(
        f.max_by("n", f.struct("emitted_ms", "place")).alias("new_last_n"),
        f.max("emitted_ms").alias("new_last_ms"),
    )
    last = last.where(" and ".join(f"`{name}` is not null" for name in key))
    return (
        keys.join(added, key, "full")
        .join(last, key, "full")
        .select(
            *key,
            f.coalesce("new_count", "count", f.lit(0)).cast("bigint").alias("count"),
            f.coalesce("answered_n", f.lit(0)).cast("bigint").alias("answered_n"),
            # A last result without a number is one all the same.
            f.when(f.col("new_last_ms").isNotNull(), f.col("new_last_n")).otherwise(f.col("last_n")).alias("last_n"),
            f.coalesce("new_last_ms", "last_ms").alias("last_ms"),
            f.coalesce("new_top", "top_n_seq").alias("top_n_seq"),
        )
    )


def _placed(results: DataFrame, keys: DataFrame, key: list[str]) -> tuple[DataFrame, DataFrame]:
    """Right results, counted by key and ``n``, and those that are ahead. One without a number from 1 on is neither."""
    from pyspark.sql import functions as f

    counts = keys.select(*key, "count")
    numbered = results.where("n >= 1").join(counts, _same(key), "left")
    numbered = numbered.withColumn("is_right", f.coalesce(f.col("n") <= f.col("count"), f.lit(False)))
    right = (
        numbered.where("is_right")
        .groupBy(*(f"found_{name}" for name in key), "n")
        .agg(f.count("*").alias("times"), f.min("emitted_ms").alias("right_ms"))
    )
    return right.persist(), numbered.where("not is_right").select(*results.columns)


def _with_answered(keys: DataFrame, right: DataFrame, key: list[str]) -> DataFrame:
    from pyspark.sql import functions as f

    most = right.groupBy(*(f.col(f"found_{name}").alias(name) for name in key)).agg(f.max("n").alias("new_n"))
    largest = f.greatest("answered_n", f.coalesce("new_n", f.lit(0)))
    return keys.join(most, key, "left").withColumn("answered_n", largest).drop("new_n")


def _covered(contributions: DataFrame, right: DataFrame, key: list[str]) -> DataFrame:
    """Each contribution with its right results, and when the first result came that counts it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    from_here_on = (
        Window.partitionBy(*key).orderBy(f.desc("rank")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    joined = contributions.join(right, [*_same(key), f.col("rank") == f.col("n")], "left")
    return joined.select(
        *key,
        *_STAMPS,
        "rank",
        f.coalesce("covered_ms", f.min("right_ms").over(from_here_on)).alias("covered_ms"),
        (f.col("right_outputs") + f.coalesce("times", f.lit(0))).alias("right_outputs"),
    )


def _ends_right() -> Column:
    """Of a key: whether its last result is right."""
    from pyspark.sql import functions as f

    return f.coalesce(f.col("last_n").between(f.lit(1), f.col("count")), f.lit(False))


def _fates(covered: DataFrame, keys: DataFrame, key: list[str]) -> DataFrame:
    """At the end of the run; as in ``running``."""
    from pyspark.sql import functions as f

    joined = covered.join(keys.drop("answered_n", "top_n_seq"), key, "left").withColumn("ends_right", _ends_right())
    fate = running.fate(
        is_missing=f.col("last_ms").isNull() | (f.col("ends_right") & (f.col("rank") > f.col("last_n"))),
        is_wrong=~f.col("ends_right") & ((f.col("rank") == f.col("count")) | f.col("covered_ms").isNull()),
    )
    return _as_judged(joined.withColumn("fate", fate))


def _as_judged(contributions: DataFrame) -> DataFrame:
    """With the columns of ``running.by_record``. A result that is not right belongs to no contribution."""
    from pyspark.sql import functions as f

    return contributions.withColumns({"outputs": f.col("right_outputs"), "wrong_ms": f.lit(None).cast("bigint")})


def _later(covered: DataFrame, keys: DataFrame, key: list[str]) -> tuple[int, int]:
    """What only the end of the run shows of records that earlier slices took for answered: contributions that the last
    result of their key no longer counts, and records of keys whose last result is wrong."""
    from pyspark.sql import functions as f

    ended = keys.where("last_ms is not null").withColumn("ends_right", _ends_right())
    fallen = ended.where("ends_right and last_n < answered_n")
    still_here = covered.join(fallen.select(*key, "last_n", "answered_n"), key).where(
        "rank > last_n and rank <= answered_n"
    )
    dropped = fallen.agg(f.coalesce(f.sum(f.col("answered_n") - f.col("last_n")), f.lit(0))).first()
    assert dropped is not None
    wrong = ended.where("not ends_right and count > 0").select(f.col("top_n_seq").alias("n_seq")).distinct()
    return int(dropped[0]) - still_here.count(), wrong.join(covered, "n_seq", "left_anti").count()
