"""Threat detection: what is computed, and the correct answers in PySpark batch.

Written only from the definition (docs/reference/workloads-threat.md): an engine's program and the answer it is checked
against share the weights, but no code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.codec import Codec, MessageKey
from streamgauge.contracts import ReferenceWorkload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import one_input, unchanged_number
from streamgauge.workloads.parameters import SeedFileParameters
from streamgauge.workloads.seed_records import STREAM, SeedRecords
from streamgauge.workloads.threat import FEATURES, SEPARATOR, network

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import DataFrame


class Classify(ReferenceWorkload):
    """The class of every flow, and how sure the network is of it."""

    name: ClassVar[str] = "threat/classify"
    title: ClassVar[str] = "classify: class and score of every flow, by a neural network"
    kind: ClassVar[ResultKind] = ResultKind.ONE_TO_ONE
    codec: ClassVar[Codec] = Codec(n_seq=MessageKey())
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(STREAM),)
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    parameters: ClassVar[type[BaseModel]] = SeedFileParameters

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> SeedRecords:
        from streamgauge.workloads.threat.data import Flows

        return Flows(seed, parameters["seed_file"])

    def program_data(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"network": network()}

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        layers = network()
        number = len(FEATURES)
        features = f.slice(f.split("value", SEPARATOR), 1, number).cast("array<bigint>").alias("features")
        answer = inputs[STREAM].select("n_seq", *one_input(), features)
        stamps = [name for name in answer.columns if name != "features"]
        answer = answer.selectExpr(*stamps, *(f"features[{n}] + 1 AS u{n}" for n in range(number)))
        answer = answer.selectExpr(*stamps, *(f"{_logarithm(f'u{n}')} AS z{n}" for n in range(number)))
        hidden = _sums(layers["hidden"], "z")
        shifted = (f"shiftright(greatest({total}, 0L), {layers['shift']}) AS h{n}" for n, total in enumerate(hidden))
        answer = answer.selectExpr(*stamps, *shifted)
        outputs = _sums(layers["output"], "h")
        answer = answer.selectExpr(*stamps, *(f"{total} AS o{n}" for n, total in enumerate(outputs)))
        names = [f"o{n}" for n in range(len(outputs))]
        answer = answer.selectExpr("*", f"greatest({', '.join(names)}) AS best")
        cases = " ".join(f"WHEN {name} = best THEN '{class_}'" for name, class_ in _of_classes(names, layers))
        powers = " + ".join(f"exp(({name} - best) / {float(layers['unit'])}D)" for name in names)
        return answer.selectExpr(*stamps, f"CASE {cases} END AS class", f"1D / ({powers}) AS score")

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", "class string, score double").alias("parsed")
        numbered = output.select("*", unchanged_number().alias("n_seq"), parsed)
        return numbered.select(*output.columns, "n_seq", "parsed.*")


def _logarithm(u: str) -> str:
    """256 × log2 of a positive integer, linear between powers of two."""
    exponent = f"(length(bin({u})) - 1)"
    return f"256L * {exponent} + shiftright(shiftleft({u}, 8), {exponent}) - 256L"


def _sums(layer: Mapping[str, Any], prefix: str) -> list[str]:
    """The weighted sum of each neuron of a layer over the columns with that prefix."""
    return [
        " + ".join([f"{bias}L", *(f"{weight}L * {prefix}{n}" for n, weight in enumerate(weights))])
        for weights, bias in zip(layer["weights"], layer["biases"], strict=True)
    ]


def _of_classes(names: Sequence[str], layers: Mapping[str, Any]) -> list[tuple[str, str]]:
    return list(zip(names, layers["classes"], strict=True))
