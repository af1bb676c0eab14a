"""When a value that came out is the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

RELATIVE_TOLERANCE = 1e-9
ZERO_TOLERANCE = 1e-9
"""How far a float may be off where the right value is 0, of which no relative tolerance leaves anything."""

FLOATS = ("float", "double")


def is_close(expected: Column, actual: Column, kind: str) -> Column:
    """Whether it is the same; a floating-point number may be off by what the order of additions makes of it."""
    from pyspark.sql import functions as f

    if kind not in FLOATS:
        return expected.eqNullSafe(actual)
    # Relative to the right one: what came out may be infinite or no number, and then everything would be near it.
    tolerance = f.when(expected == 0, ZERO_TOLERANCE).otherwise(f.abs(expected) * RELATIVE_TOLERANCE)
    return expected.eqNullSafe(actual) | (f.abs(expected - actual) <= tolerance)
