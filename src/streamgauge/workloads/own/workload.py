"""A user's script as a workload: checked against the reference in its file or, without one, only timed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.contracts import Dataset, ReferenceWorkload, Workload
from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan, ResultKind
from streamgauge.script import STAMPS, behind_each
from streamgauge.workloads.answers import all_inputs

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.own.script import ScriptCode

PLACES = {"appended_ms": "appended_min_ms", "partition_bit": "partitions"}
"""Columns of the single input that ``n_seq`` names, and their names in the answer."""
NEW_INPUTS = "new_inputs"
"""Optional, if a record contributes to several rows: how many inputs of a row are in no earlier one."""

_KEPT_FROM_THE_INPUT = ("n_seq", "partition", "offset", "appended_ms", "intended_ns")
"""Columns of an input that a reference may leave in its answer; they are not part of the result."""


class _Replacement(ReferenceWorkload):
    """Reads the same data as the workload that it replaces."""

    kind: ClassVar[ResultKind] = ResultKind.FINAL_PER_KEY

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        # Other workloads define these on the class, as the contract requires.
        self.inputs, self.codec = workload.inputs, workload.codec  # type: ignore[misc]
        self.parameters = workload.parameters  # type: ignore[misc]

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Dataset:
        return self._workload.dataset(parameters, seed, load)


class OwnWorkload(_Replacement):
    """Checks against the script's ``reference``. Key and value columns are known once it has been computed.

    The columns are renamed, so that the user's names do not clash with those of the matching.
    """

    name: ClassVar[str] = "own"
    title: ClassVar[str] = "your script"

    def __init__(self, code: ScriptCode, workload: Workload) -> None:
        super().__init__(workload)
        self._code = code
        self._fields: list[tuple[str, str]] = []
        self._schema: Any = None
        self.key = tuple(f"key_{place}" for place, _ in enumerate(code.script.key))  # type: ignore[misc]

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """Raises UsageError for an answer that cannot be compared."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import StructType

        shown = {name: frame.drop("partition_bit") for name, frame in inputs.items()}
        answer = self._checked(self._code.call("reference", shown))
        beside = {*self._code.script.key, *_KEPT_FROM_THE_INPUT, *STAMPS, NEW_INPUTS}
        values = [name for name in answer.columns if name not in beside]
        named_values = [f"value_{place}" for place, _ in enumerate(values)]
        self._fields = list(zip((*self._code.script.key, *values), (*self.key, *named_values), strict=True))
        self._schema = StructType([answer.schema[name] for name, _ in self._fields])
        named = {ours: f.col(f"`{name}`") for name, ours in self._fields}
        for name, ours in self._fields[: len(self.key)]:
            named[ours] = _never_null(named[ours], f"the reference has a row without {name}, a key column")
        unknown = "the reference has a row without inputs: its n_seq, or a column for behind(), is null or unknown"
        named |= {name: f.col(name) for name in STAMPS}
        named["intended_max_ns"] = _never_null(named["intended_max_ns"], unknown)
        if NEW_INPUTS in answer.columns:
            named[NEW_INPUTS] = f.col(NEW_INPUTS)
        stamped = self._stamped(answer, inputs)
        named |= {ours: f.col(f"input.{name}") for name, ours in PLACES.items()} if stamped is not answer else {}
        return stamped.select(*(column.alias(name) for name, column in named.items()))

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """Decodes with the schema of the reference; an output that is not such a JSON object has nulls."""
        from pyspark.sql import functions as f

        parsed = f.from_json("value", self._schema)
        fields = [f.col("parsed").getField(name).alias(ours) for name, ours in self._fields]
        return output.withColumn("parsed", parsed).select("partition", "offset", "appended_ms", *fields)

    def _checked(self, answer: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        if not isinstance(answer, DataFrame) or answer.isStreaming:
            got = "a streaming DataFrame" if isinstance(answer, DataFrame) else type(answer).__name__
            raise self._usage_error("reference must return a batch DataFrame", got=got)
        if lacking := [name for name in self._code.script.key if name not in answer.columns]:
            raise self._usage_error(
                f"the reference lacks the key column {', '.join(lacking)}",
                got=f"columns {', '.join(answer.columns)}",
            )
        if twice := sorted({name for name in answer.columns if answer.columns.count(name) > 1}):
            raise self._usage_error(f"the reference has several columns named {', '.join(twice)}")
        return answer

    def _stamped(self, answer: DataFrame, inputs: Mapping[str, DataFrame]) -> DataFrame:
        """The answer with timestamps: its own, or those of the single input that ``n_seq`` names."""
        lacking = [name for name in STAMPS if name not in answer.columns]
        if not lacking:
            return answer
        if len(lacking) == len(STAMPS) and "n_seq" in answer.columns:
            one = answer.drop("appended_ms", "intended_ns")
            columns = ("n_seq", "appended_ms", "intended_ns", "partition_bit")
            every = reduce(
                lambda some, others: some.unionByName(others), (one.select(*columns) for one in inputs.values())
            )
            return one.join(every.alias("input"), "n_seq", "left").select("*", *behind_each("input"))
        raise self._usage_error(
            f"the reference does not identify the inputs of its rows: it lacks {', '.join(lacking)}",
            got=f"columns {', '.join(answer.columns)}",
            expected="n_seq of the single input, or .agg(…, *behind()) with `from streamgauge.script import behind`",
        )

    def _usage_error(self, what: str, got: str | None = None, expected: str | None = None) -> UsageError:
        return UsageError(what, where=self._code.script.path, got=got, expected=expected)


def _never_null(column: Column, otherwise: str) -> Column:
    """Spark raises this error when it computes a null: such a row could be neither matched nor missing."""
    from pyspark.sql import functions as f

    return f.when(column.isNull(), f.raise_error(f.lit(otherwise))).otherwise(column)


class Unchecked(_Replacement):
    """A script without a reference: only measures when an output appears that names its input by ``n_seq``."""

    name: ClassVar[str] = "unchecked"
    title: ClassVar[str] = "your script, without a reference"
    key: ClassVar[tuple[str, ...]] = ("n_seq",)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        return all_inputs(inputs).select("n_seq", *behind_each())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return output.withColumn("n_seq", self.codec.n_seq.column())
