"""Every purchase, unchanged: what a transport and a program cost without any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import BinaryField, Codec, with_numbers
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import one_input
from streamgauge.workloads.games import PURCHASES
from streamgauge.workloads.games.parameters import RecordParameters

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import DataFrame

    from streamgauge.workloads.games.data import Games


class Identity(ReferenceWorkload):
    """Publish every purchase unchanged."""

    name: ClassVar[str] = "games/identity"
    title: ClassVar[str] = "identity: publish every purchase unchanged"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE
    codec: ClassVar[Codec] = Codec(n_seq=BinaryField(0), event_ms=BinaryField(8), text=False)
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(PURCHASES),)
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    parameters: ClassVar[type[BaseModel]] = RecordParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Games:
        from streamgauge.workloads.games.data import Games

        return Games(seed, load, gem_packs=parameters["gem_packs"], keys=parameters["keys"])

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        purchases = inputs[PURCHASES]
        ingested = [f.col("ingested_ms").alias("ingested_max_ms")] if "ingested_ms" in purchases.columns else []
        return purchases.select("n_seq", f.col("value").alias("record"), *one_input(), *ingested)

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return with_numbers(output, {"n_seq": self.codec.n_seq}).withColumn("record", f.col("value"))
