"""Your own data as a workload: what a program makes of it is its own affair; measured is when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from streamgauge.codec import Codec, Header
from streamgauge.contracts import ReferenceWorkload
from streamgauge.errors import UsageError
from streamgauge.model import InputStream, LoadPlan, ResultKind, Stream
from streamgauge.workloads.answers import all_inputs, one_input
from streamgauge.workloads.own.script import inspect
from streamgauge.workloads.parameters import Parameters, absolute
from streamgauge.workloads.yours.given import BETWEEN, EXPECTED, Given, parse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.yours.data import YourRecords

COMMITS = "commits"
"""The output: what the checkpoints of a script say about the input that it has committed."""


def _resolved(text: str) -> str:
    """With absolute paths: the load workers run in another directory."""
    try:
        return BETWEEN.join(given.typed for given in parse(text))
    except UsageError as problem:
        raise ValueError(str(problem.message()).replace("\n", "; ")) from None


class YourParameters(Parameters):
    data: Annotated[str, AfterValidator(_resolved)] = Field(
        default="", description="your data, as --data takes it; several streams are separated by semicolons"
    )


class OutputParameters(YourParameters):
    output: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,200}$")] = Field(
        default="output", description="the topic that your program writes, by its own name for it"
    )
    correlate: str = Field(
        default="", description="field of the JSON in both input and output that tells which input an output belongs to"
    )
    reference: Annotated[str, AfterValidator(absolute)] = Field(
        default="", description="Python file with reference(inputs) and key, which checks the answers"
    )

    @model_validator(mode="after")
    def _check_way(self) -> Self:
        if bool(self.correlate) == bool(self.reference):
            raise ValueError("expected either --correlate FIELD or --reference FILE to tell outputs apart")
        return self


class _Yours(ReferenceWorkload):
    """Reads your data."""

    codec: ClassVar[Codec] = Codec(n_seq=Header("streamgauge-n"))
    inputs: ClassVar[tuple[InputStream, ...]] = ()
    late: ClassVar[str] = "every record counts, whatever the program does with it"
    checks_answers: ClassVar[bool] = False
    users_program: ClassVar[bool] = True

    def bound(self, parameters: Mapping[str, Any]) -> Self:
        streams = given_streams(parameters)
        shares = sum(one.share for one in streams)
        self.inputs = tuple(InputStream(one.stream, one.share / shares) for one in streams)  # type: ignore[misc]
        self.codec = Codec(  # type: ignore[misc]
            n_seq=Header("streamgauge-n"),
            event_ms=Header("streamgauge-event-ms") if any(one.time for one in streams) else None,
            text=all(one.format != "avro" for one in streams),
        )
        return self

    def files(self, parameters: Mapping[str, Any]) -> Sequence[Path]:
        return [Path(one.file) for one in given_streams(parameters)]

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> YourRecords:
        from streamgauge.workloads.yours.data import YourRecords

        return YourRecords(given_streams(parameters), load.records)


class Correlated(_Yours):
    """Outputs on a topic, told apart by a field, or by what the reference says."""

    name: ClassVar[str] = "yours/output"
    title: ClassVar[str] = "your data: until the outputs of your program are on their topic"
    kind: ClassVar[ResultKind] = ResultKind.FILTER
    key: ClassVar[tuple[str, ...]] = ("id",)
    parameters: ClassVar[type[BaseModel]] = OutputParameters
    complete: ClassVar[bool] = False

    def bound(self, parameters: Mapping[str, Any]) -> Self:
        self.outputs = (parameters["output"],)  # type: ignore[misc]
        if parameters["output"] in (one.stream for one in given_streams(parameters)):
            raise UsageError(
                f"--output {parameters['output']} is also a stream of --data", expected="another name for the stream"
            )
        return super().bound(parameters)

    def reference_file(self, parameters: Mapping[str, Any]) -> Path | None:
        return Path(parameters["reference"]) if parameters["reference"] else None

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> YourRecords:
        self.settles_s(parameters)  # a mistake in the reference is found before anything is started
        records = super().dataset(parameters, seed, load)
        for given in records.repeated:
            if parameters["correlate"] not in ("", given.time):
                raise UsageError(
                    f"--correlate {parameters['correlate']} cannot tell records apart that loop=true repeats",
                    where=given.file,
                    expected="a file that lasts for the whole run, or a function: --data STREAM=gen.py:function",
                    hint="a shorter --for, or a lower --rate",
                )
        return records

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        file = self.reference_file(parameters)
        return 0.0 if file is None else inspect(file, only_reference=True).settles_s

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        return all_inputs(inputs).select(_field(parameters).alias("id"), *one_input()).where("id is not null")

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return output.withColumn("id", _field(parameters))


def _field(parameters: Mapping[str, Any]) -> Column:
    from pyspark.sql import functions as f

    return f.get_json_object(f.col("value").cast("string"), f"$['{parameters['correlate']}']")


class Committed(_Yours):
    """Every record of the input must be committed by the program that reads it."""

    name: ClassVar[str] = "yours/committed"
    title: ClassVar[str] = "your data: each record until the batch that holds it is committed"
    kind: ClassVar[ResultKind] = ResultKind.FILTER
    outputs: ClassVar[tuple[str, ...]] = (COMMITS,)
    key: ClassVar[tuple[str, ...]] = ("stream", "of_partition", "of_offset")
    parameters: ClassVar[type[BaseModel]] = YourParameters
    folded: ClassVar[bool] = True

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        records = all_inputs({name: frame.withColumn("stream", f.lit(name)) for name, frame in inputs.items()})
        return records.select(
            "stream", f.col("partition").alias("of_partition"), f.col("offset").alias("of_offset"), *one_input()
        )

    def unfold(self, output: DataFrame, inputs: Sequence[Stream]) -> DataFrame:
        """A row for each record that a commit covers: with the key and the place of the record, at its moment."""
        from pyspark.sql import functions as f

        streams = f.create_map(*(f.lit(part) for one in inputs for part in (one.address, one.name)))
        firsts = f.create_map(*(f.lit(part) for part in _first_partitions(inputs)))
        covered = "array<struct<topic:string,partition:int,from:bigint,to:bigint>>"
        commit = f.from_json(f.col("value").cast("string"), f"committed_ms bigint, covers {covered}")
        ranges = output.select(commit.alias("commit")).select(
            "commit.committed_ms", f.explode("commit.covers").alias("c")
        )
        rows = ranges.where("c.to > c.from").select(
            f.col("committed_ms").alias("appended_ms"),
            streams[f.col("c.topic")].alias("stream"),
            f.col("c.partition").alias("own_partition"),
            firsts[f.col("c.topic")].alias("first"),
            f.explode(f.sequence(f.col("c.from"), f.col("c.to") - 1)).alias("offset"),
        )
        return rows.select(
            f.encode("stream", "utf-8").alias("key"),
            f.encode(f.col("own_partition").cast("string"), "utf-8").alias("value"),
            (f.col("first") + f.col("own_partition")).cast("int").alias("partition"),
            "offset",
            "appended_ms",
        )

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return output.withColumns(
            {
                "stream": f.col("key").cast("string"),
                "of_partition": f.col("value").cast("string").cast("int"),
                "of_offset": f.col("offset"),
            }
        )


def _first_partitions(inputs: Sequence[Stream]) -> Iterator[Any]:
    """For each input, its address and the number of partitions of those before it."""
    first = 0
    for one in inputs:
        yield from (one.address, first)
        first += one.partitions


def given_streams(parameters: Mapping[str, Any]) -> tuple[Given, ...]:
    """Raises UsageError without any."""
    streams = parse(parameters["data"])
    if not streams:
        raise UsageError("this scenario needs your data", expected=f"--data {EXPECTED}")
    return streams
