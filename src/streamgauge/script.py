"""For authors of scripts (``--script``): describes the inputs of each row of a reference answer.

A script (docs/tutorial/own-script.md) may import this module, but nothing else of streamgauge.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

STAMPS = ("inputs", "appended_max_ms", "appended_mean_ms", "intended_max_ns")
"""The number of inputs of a row, and when they were appended and should have been sent."""


def behind(*sides: str) -> list[Column]:
    """The timestamp columns of an aggregated row, for ``groupBy(…).agg(…, *behind())``.

    If the aggregated rows are pairs from a join, ``sides`` are the aliases of the joined inputs:
    ``behind("flow", "speed")``.
    """
    from pyspark.sql import functions as f

    inputs, latest_ms, mean_ms, intended_ns = _of_one_row(sides)
    return _named(f.sum(inputs), f.max(latest_ms), f.avg(mean_ms), f.max(intended_ns))


def behind_each(*sides: str) -> list[Column]:
    """The timestamp columns of a row with one record per side: ``joined.select(…, *behind_each("flow", "speed"))``."""
    return _named(*_of_one_row(sides))


def _of_one_row(sides: tuple[str, ...]) -> tuple[Column, Column, Column, Column]:
    from pyspark.sql import functions as f

    prefixes = [f"{side}." for side in sides] or [""]
    appended_ms = [f.col(f"{prefix}appended_ms") for prefix in prefixes]
    intended_ns = [f.col(f"{prefix}intended_ns") for prefix in prefixes]
    if len(prefixes) == 1:
        return f.lit(1), appended_ms[0], appended_ms[0].cast("double"), intended_ns[0]
    mean_ms = reduce(lambda one, other: one + other, appended_ms) / len(prefixes)
    return f.lit(len(prefixes)), f.greatest(*appended_ms), mean_ms, f.greatest(*intended_ns)


def _named(*columns: Column) -> list[Column]:
    return [column.alias(name) for name, column in zip(STAMPS, columns, strict=True)]
