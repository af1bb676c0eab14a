"""Spark reads the same numbers from records as Python."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

CASES = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "test_codec.py"))["CASES"]
SCHEMA = "case int, key binary, value binary, headers array<struct<key: string, value: binary>>"


def test_every_place(spark: Any) -> None:
    rows = [(case, message.key, message.value, list(message.headers)) for case, (_, message, _) in enumerate(CASES)]
    records = spark.createDataFrame(rows, SCHEMA)
    for case, (place, message, number) in enumerate(CASES):
        read = records.where(f"case = {case}").select(place.column().alias("number")).collect()[0]["number"]
        assert read == number == place.read(message), place
