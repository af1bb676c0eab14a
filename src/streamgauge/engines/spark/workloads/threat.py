"""Threat detection: the network runs in Python, on Arrow batches."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import stateless_limit
from streamgauge.engines.spark.sources import read
from streamgauge.model import Limit

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Numbers = npt.NDArray[np.float64]

_CLASSIFY = frozenset({"threat/classify"})

LIMITS = (
    stateless_limit(_CLASSIFY),
    Limit(
        _CLASSIFY,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) MapInArrowExec is not in the "
        "operator allowlist for Real-Time Mode.",
    ),
)


def classify(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Class and score of every flow."""
    records = read(spark, job).select("key", "value")
    return records.mapInArrow(_on_batches(job["data"]["network"]), "key binary, value string")


def _on_batches(network: Mapping[str, Any]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def classified(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                values = _results(batch.column("value").to_pylist(), network)
                yield pa.RecordBatch.from_arrays([batch.column("key"), values], ["key", "value"])

    return classified


def _results(values: list[bytes], network: Mapping[str, Any]) -> pa.Array:
    """The results as JSON."""
    import pyarrow as pa
    import pyarrow.compute as pc

    classes, scores = answers(features(values, network), network)
    names = pa.array(network["classes"]).take(pa.array(classes))
    texts = pc.cast(pa.array(scores), pa.string())
    return pc.binary_join_element_wise('{"class":"', names, '","score":', texts, "}", "")


def features(values: list[bytes], network: Mapping[str, Any]) -> Numbers:
    """The numbers of these records, a row per record."""
    import numpy as np
    from pyarrow import csv

    names = network["features"]
    table = csv.read_csv(
        io.BytesIO(b"\n".join(values)),
        csv.ReadOptions(column_names=[*names, "label"], use_threads=False),
        csv.ParseOptions(quote_char=False),
        convert_options=csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, "int64")),
    )
    return np.stack([table.column(name).to_numpy() for name in names], axis=1).astype(np.float64)


def answers(rows: Numbers, network: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The class of each row, by its position, and its score.

    All numbers but the scores are integers below 2^53, which floating-point numbers represent exactly, and whose
    products numpy computes faster than those of integers.
    """
    import numpy as np

    mantissas, exponents = np.frexp(rows + 1)
    # frexp has mantissas from 0.5: log2 is one less than the exponent.
    inputs = 256 * (exponents - 1) + np.floor(mantissas * 512) - 256
    hidden = np.floor(np.maximum(_sums(inputs, network["hidden"]), 0) / 2 ** network["shift"])
    outputs = _sums(hidden, network["output"])
    classes = outputs.argmax(axis=1)
    best = outputs.max(axis=1, keepdims=True)
    return classes, 1 / np.exp((outputs - best) / network["unit"]).sum(axis=1)


def _sums(inputs: Numbers, layer: Mapping[str, Any]) -> Numbers:
    import numpy as np

    weights, biases = np.array(layer["weights"], np.float64), np.array(layer["biases"], np.float64)
    return inputs @ weights.T + biases
