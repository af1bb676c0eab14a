"""A numpy function as a column of Spark."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from streamgauge.evaluate.tally import Ints

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column


def column_function(function: Callable[[Ints], Ints], *modules: ModuleType) -> Callable[[Column], Column]:
    """``function`` of a column of whole numbers; ``modules`` are those of this package that it is made of."""
    import pyarrow as pa
    from pyspark import cloudpickle
    from pyspark.sql import functions as f

    # The machines of another Spark need not have this package.
    for module in modules:
        cloudpickle.register_pickle_by_value(module)

    def column(values: pa.Array) -> pa.Array:
        return pa.array(function(values.fill_null(0).to_numpy(zero_copy_only=False)))

    # Spark wants to see the types themselves, not their names.
    column.__annotations__ = {"values": pa.Array, "return": pa.Array}
    udf: Callable[[Column], Column] = f.arrow_udf(column, "bigint")
    return udf
