"""Spark reads the same numbers from records as Python."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from streamgauge.codec import BinaryField, MessageKey, with_numbers

CASES = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "test_codec.py"))["CASES"]
SCHEMA = "case int, key binary, value binary, headers array<struct<key: string, value: binary>>"


def test_every_place(spark: Any) -> None:
    rows = [(case, message.key, message.value, list(message.headers)) for case, (_, message, _) in enumerate(CASES)]
    records = spark.createDataFrame(rows, SCHEMA)
    for case, (place, message, number) in enumerate(CASES):
        read = records.where(f"case = {case}").select(place.column().alias("number")).collect()[0]["number"]
        assert read == number == place.read(message), place


def test_places_of_one_kind_are_read_together(spark: Any) -> None:
    binary = [(place, message, number) for place, message, number in CASES if isinstance(place, BinaryField)]
    values = [(case, message.value) for case, (_, message, _) in enumerate(binary)]
    records = spark.createDataFrame([*values, (len(binary), None)], "case int, value binary")
    places = {f"place_{case}": place for case, (place, _, _) in enumerate(binary)}
    rows = sorted(with_numbers(records, places).collect())
    assert [row["value"] for row in rows] == [*(value for _, value in values), None]
    for case, (_, _, number) in enumerate(binary):
        assert rows[case][f"place_{case}"] == number
    assert set(rows[-1].asDict()) == {"case", "value", *places}
    assert {rows[-1][name] for name in places} == {None}
    mixed = with_numbers(records.withColumn("key", records["value"]), {"b": BinaryField(0), "k": MessageKey()})
    assert mixed.count() == len(rows)
