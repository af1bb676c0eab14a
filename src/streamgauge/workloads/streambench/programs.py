"""StreamBench's programs and a sink: what each computes, and the correct answers in PySpark batch.

Written only from the definitions (docs/reference/workloads.md): an engine's program and the answer it is checked
against share no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import Codec, MessageKey
from streamgauge.contracts import INPUT_STAMPS, ReferenceWorkload, RunningWorkload, Workload
from streamgauge.errors import UsageError
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import one_input, unchanged_number
from streamgauge.workloads.parameters import SeedFileParameters
from streamgauge.workloads.seed_records import STREAM, SeedRecords
from streamgauge.workloads.streambench import PACKET_SEPARATOR, SEARCHLOG_SEPARATOR
from streamgauge.workloads.streambench.parameters import (
    DistinctFieldParameters,
    GrepParameters,
    NumberFieldParameters,
    SampleParameters,
    TextFieldParameters,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame


HASH_FACTOR = 2_654_435_761
"""Knuth's multiplier: about 2^32 divided by the golden ratio."""
MEAN_TOLERANCE = 1e-9
"""Relative tolerance, as for all floating-point results."""


class StreamBenchWorkload(Workload):
    """Base of all programs: one stream of records, numbered by their keys."""

    codec: ClassVar[Codec] = Codec(n_seq=MessageKey())
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(STREAM),)
    parameters: ClassVar[type[BaseModel]] = SeedFileParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> SeedRecords:
        from streamgauge.workloads.streambench.data import SearchLog

        return SearchLog(seed, parameters["seed_file"])


class PerRecord(StreamBenchWorkload, ReferenceWorkload):
    """A record has one result, with the same key, or none."""

    key: ClassVar[tuple[str, ...]] = ("n_seq",)

    def kept(self, parameters: Mapping[str, Any]) -> Column:
        """Whether a record has a result."""
        from pyspark.sql import functions as f

        return f.lit(True)

    def result(self, parameters: Mapping[str, Any]) -> Column:
        """The value of a record's result."""
        from pyspark.sql import functions as f

        return f.col("value")

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        selected = inputs[STREAM].where(self.kept(parameters))
        return selected.select("n_seq", self.result(parameters).alias("result"), *one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return output.withColumns({"n_seq": unchanged_number(), "result": f.col("value")})


class Identity(PerRecord):
    """Publish every record unchanged."""

    name: ClassVar[str] = "streambench/identity"
    title: ClassVar[str] = "identity: publish every record unchanged"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE


class Sample(PerRecord):
    """Keep a share of the records, chosen by a hash of the sequence number so that the choice can be checked."""

    name: ClassVar[str] = "streambench/sample"
    title: ClassVar[str] = "sample: keep a share of the records"
    kind: ClassVar[ResultKind] = ResultKind.FILTER
    parameters: ClassVar[type[BaseModel]] = SampleParameters

    def kept(self, parameters: Mapping[str, Any]) -> Column:
        from pyspark.sql import functions as f

        hashed = (f.col("n_seq") % 2**31 * HASH_FACTOR) % 2**32
        return hashed < parameters["sample_percent"] * 2**32 // 100


class Projection(PerRecord):
    """Publish one field of every record."""

    name: ClassVar[str] = "streambench/projection"
    title: ClassVar[str] = "projection: publish one field of every record"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE
    parameters: ClassVar[type[BaseModel]] = TextFieldParameters

    def result(self, parameters: Mapping[str, Any]) -> Column:
        return _field(parameters["field"], SEARCHLOG_SEPARATOR)


class Grep(PerRecord):
    """Keep the records that contain a text."""

    name: ClassVar[str] = "streambench/grep"
    title: ClassVar[str] = "grep: keep the records that contain a text"
    kind: ClassVar[ResultKind] = ResultKind.FILTER
    parameters: ClassVar[type[BaseModel]] = GrepParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> SeedRecords:
        """Also raises UsageError if no record contains the pattern: no result could be checked."""
        records = super().dataset(parameters, seed, load)
        pattern = parameters["pattern"].encode()
        if not any(pattern in value for value in records.values):
            raise UsageError(
                "no record contains the pattern",
                where=parameters["seed_file"] or f"data set {records.name}, seed {seed}",
                got=repr(parameters["pattern"]),
                expected="text that occurs in at least one record (case-sensitive)",
                hint="--set pattern=TEXT",
            )
        return records

    def kept(self, parameters: Mapping[str, Any]) -> Column:
        from pyspark.sql import functions as f

        return f.contains(f.col("value"), f.lit(parameters["pattern"]))


class Running(StreamBenchWorkload, RunningWorkload):
    """Totals over all records so far. A result is a JSON object, keyed by the total's name."""

    kind: ClassVar[ResultKind] = ResultKind.RUNNING


class Wordcount(Running):
    """The number of occurrences of each word of a field so far."""

    name: ClassVar[str] = "streambench/wordcount"
    title: ClassVar[str] = "wordcount: occurrences of each word so far"
    key: ClassVar[tuple[str, ...]] = ("word",)
    counts_only: ClassVar[bool] = True
    parameters: ClassVar[type[BaseModel]] = TextFieldParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> SeedRecords:
        """Also raises UsageError if the field has no words in any record: no result could be checked."""
        records, field = super().dataset(parameters, seed, load), parameters["field"]
        separator = SEARCHLOG_SEPARATOR.encode()
        if not any(value.split(separator)[field].strip(b" ") for value in records.values):
            raise UsageError(
                f"wordcount cannot use field {field} of the seed file",
                where=parameters["seed_file"],
                got="no word in any record",
                expected="words separated by spaces in at least one record",
                hint="choose another field from 0 to 4: --set field=N",
            )
        return records

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", "word string, n bigint").alias("parsed")
        word = f.when(f.col("parsed.word") == f.col("key"), f.col("parsed.word")).alias("word")
        return output.select("*", parsed).select(*output.columns, word, "parsed.n")

    def contributions(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        words = f.explode(f.split(_field(parameters["field"], SEARCHLOG_SEPARATOR), " ")).alias("word")
        return inputs[STREAM].select(words, *INPUT_STAMPS).where("word != ''")


class Total(Running):
    """One total over all records, with the same key in every result."""

    key: ClassVar[tuple[str, ...]] = ("aggregate",)
    aggregate: ClassVar[str]
    """The key."""
    fields: ClassVar[str]
    """Fields of the JSON object."""

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", self.fields).alias("parsed")
        return output.select("*", f.col("key").alias("aggregate"), parsed).select(
            *output.columns, "aggregate", "parsed.*"
        )


class Distinctcount(Total):
    """The number of distinct values of a field so far. Only the first record with a value contributes."""

    name: ClassVar[str] = "streambench/distinctcount"
    title: ClassVar[str] = "distinctcount: number of distinct values of a field so far"
    parameters: ClassVar[type[BaseModel]] = DistinctFieldParameters
    aggregate: ClassVar[str] = "distinct"
    fields: ClassVar[str] = "n bigint"

    def contributions(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        in_order = ("appended_ms", "partition", "offset")
        stamps = f.struct(*in_order, *(name for name in INPUT_STAMPS if name not in in_order))
        by_value = inputs[STREAM].groupBy(_field(parameters["field"], SEARCHLOG_SEPARATOR))
        first = by_value.agg(f.min(stamps).alias("first"))
        return first.select(f.lit(self.aggregate).alias("aggregate"), *(f"first.{name}" for name in INPUT_STAMPS))


class Statistics(Total):
    """Minimum, maximum, sum and mean of a field of all records so far."""

    name: ClassVar[str] = "streambench/statistics"
    title: ClassVar[str] = "statistics: minimum, maximum, sum and mean of a field so far"
    parameters: ClassVar[type[BaseModel]] = NumberFieldParameters
    aggregate: ClassVar[str] = "statistics"
    fields: ClassVar[str] = "n bigint, min bigint, max bigint, sum bigint, mean double"

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> SeedRecords:
        """Also raises UsageError for a field that is not an integer, and for a sum that could exceed 64 bits."""
        from streamgauge.workloads.streambench.data import Packets

        records = Packets(seed, parameters["seed_file"])
        records.check_sum(parameters["field"], load.records)
        return records

    def contributions(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        number = _field(parameters["field"], PACKET_SEPARATOR).cast("bigint").alias("number")
        return inputs[STREAM].select(f.lit(self.aggregate).alias("aggregate"), number, *INPUT_STAMPS)

    def aggregates(self, parameters: Mapping[str, Any]) -> Mapping[str, Column]:
        from pyspark.sql import functions as f

        return {"min": f.min("number"), "max": f.max("number"), "sum": f.sum("number"), "mean": f.avg("number")}

    def possible(self, parameters: Mapping[str, Any]) -> Column:
        """Among ``n`` numbers, one is the minimum, one the maximum, and the others lie between them."""
        from pyspark.sql import functions as f

        # Products of an engine's values may have twice as many digits as a bigint.
        n, low, high, total = (f.col(name).cast("decimal(19,0)") for name in ("n", "min", "max", "sum"))
        mean = f.col("sum").cast("double") / f.col("n")
        bounds = (
            (low >= f.col("final_min"))
            & (low <= high)
            & (high <= f.col("final_max"))
            & (total >= (n - 1) * low + high)
            & (total <= (n - 1) * high + low)
            & (f.abs(f.col("mean") - mean) <= MEAN_TOLERANCE * f.abs(mean))
        )
        return f.coalesce(f.when(f.col("n") >= 1, bounds), f.lit(False))


class Sink(StreamBenchWorkload):
    """Consume every record and publish nothing."""

    name: ClassVar[str] = "streambench/sink"
    title: ClassVar[str] = "sink: consume every record, publish nothing"
    kind: ClassVar[ResultKind] = ResultKind.NONE
    outputs: ClassVar[tuple[str, ...]] = ()


def _field(index: int, separator: str) -> Column:
    """A field of the value."""
    from pyspark.sql import functions as f

    return f.get(f.split("value", separator), f.lit(index))
