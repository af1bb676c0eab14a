"""Shows a workload: what to compute, on which data, and which results are correct.

The reference computes the correct answer from the recorded input, in PySpark batch. It shares no code with the program
of any engine, so that no mistake is made twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from sensor_alarms.data import STREAM, Readings
from streamgauge.codec import Codec, DelimitedField
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import one_input
from streamgauge.workloads.parameters import Parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class AlarmParameters(Parameters):
    """The parameters for ``--set``. The model is strict: unknown names and values of another type are refused."""

    limit_celsius: Annotated[int, Field(ge=0, le=99)] = Field(
        default=90, description="limit for alarms, °C; readings are uniform from 0 to 99.9"
    )
    sensors: Annotated[int, Field(ge=1, le=100_000)] = Field(default=100, description="number of sensors")


class Alarms(ReferenceWorkload):
    """Keep the readings above the limit, unchanged."""

    name: ClassVar[str] = "sensors/alarms"
    title: ClassVar[str] = "alarms: keep the readings above a limit"
    kind: ClassVar[ResultKind] = ResultKind.FILTER
    codec: ClassVar[Codec] = Codec(n_seq=DelimitedField(0, ";"))
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(STREAM),)
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    parameters: ClassVar[type[BaseModel]] = AlarmParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Readings:
        return Readings(seed, parameters["sensors"])

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """The key columns, the value columns, which must be equal, and the columns that describe the input of a row."""
        from pyspark.sql import functions as f

        celsius = f.regexp_extract("value", r";([\d.]+)$", 1).cast("double")
        alarms = inputs[STREAM].where(celsius > parameters["limit_celsius"])
        return alarms.select("n_seq", f.col("value").alias("reading"), *one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """The same columns, from the engine's output."""
        from pyspark.sql import functions as f

        return output.withColumns({"n_seq": self.codec.n_seq.column(), "reading": f.col("value")})
