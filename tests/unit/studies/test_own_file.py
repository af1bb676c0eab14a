"""Scenarios of one's own: TOML files that extend a built-in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streamgauge.cli.request import build
from streamgauge.cli.stages import build_stages
from streamgauge.errors import UsageError
from streamgauge.studies.own_file import base_of, schema

FILE = """
extends = "ospbench/latency"
engine = "echo"
slo = ["latency.p99 < 2s"]
faults = ["pause engine for 1s at 50%"]

[set]
stage = "parse"
rate_per_s = "1k"
measured_s = 12

[engines.echo]
delay_ms = 25.0

[engines.spark]
trigger_ms = 500
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_the_file_says_what_the_command_line_could(file: Path) -> None:
    scenario = build(str(file)).scenario
    assert (scenario.study, scenario.name, scenario.chosen, scenario.engine) == ("ospbench", "latency", "parse", "echo")
    assert (scenario.load.rate_per_s, scenario.load.measured_s) == (1000, 12.0)
    assert (scenario.engine_options["delay_ms"], scenario.slo) == (25.0, ("latency.p99 < 2s",))
    assert [str(fault) for fault in scenario.faults] == ["pause engine for 1s at 50%"]


def test_the_command_line_says_otherwise(file: Path) -> None:
    scenario = build(
        str(file), engine="spark", rate="300/s", settings=["measured_s=20"], slo=["latency.p50 < 1s"]
    ).scenario
    assert (scenario.engine, scenario.load.rate_per_s, scenario.load.measured_s) == ("spark", 300, 20.0)
    assert scenario.engine_options["trigger_ms"] == 500
    assert scenario.slo == ("latency.p99 < 2s", "latency.p50 < 1s")


def test_options_of_the_engine_that_the_base_has(file: Path) -> None:
    changed = FILE.replace('engine = "echo"', "").replace('["pause engine for 1s at 50%"]', "[]")
    file.write_text(changed, encoding="utf-8")
    scenario = build(str(file)).scenario
    assert (scenario.engine, scenario.engine_options["trigger_ms"]) == ("spark", 500)


def test_all_stages_of_a_file(file: Path) -> None:
    given: dict[str, Any] = {"scenario": str(file), "settings": ["stage=all"], "out": file.parent / "out"}
    assert set(build_stages(**given).requests) == {"ingest", "parse"}, "what echo runs"
    assert base_of(str(file)) == "ospbench/latency"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"1k"', '"lots"', "invalid rate_per_s = 'lots' in .*my.toml: expected a whole number of records per second"),
        ("measured_s = 12", "measuredd_s = 12", "unknown setting: measuredd_s = 12 in .*my.toml"),
        ("ospbench/latency", "ospbench/latncy", "unknown scenario: 'ospbench/latncy'; did you mean"),
        ("[engines.spark]", "[engines.sparc]", "unknown engine: 'sparc'"),
        ("slo = [", "sol = [", "the scenario file has mistakes"),
        ("[set]", "[set", "the scenario file is not valid TOML"),
    ],
)
def test_mistakes_name_the_file(file: Path, old: str, new: str, message: str) -> None:
    assert old in FILE
    file.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        build(str(file))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the scenario file cannot be read"):
        build(str(tmp_path / "none.toml"))
    (tmp_path / "latin.toml").write_bytes(b"extends = '\xff'")
    with pytest.raises(UsageError, match="not valid TOML"):
        build(str(tmp_path / "latin.toml"))


def test_the_schema_knows_values_and_options() -> None:
    described = schema()
    values = described["properties"]["set"]["properties"]
    assert {"rate_per_s", "window_s", "gem_packs", "transport"} <= set(values)
    assert "records per second" in values["rate_per_s"]["description"]
    assert "trigger_ms" in described["properties"]["engines"]["properties"]["spark"]["properties"]
    assert "ospbench/latency" in described["properties"]["extends"]["enum"]
