"""Every value of its scenario identifies a measurement, both before the run and in the manifest."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge import identity
from streamgauge.campaigns.capacity_file import identifying_settings
from streamgauge.cli.request import build
from streamgauge.measure import manifest
from streamgauge.measure import plan as plans
from streamgauge.model import Fault, LoadPlan, Scenario, Script
from streamgauge.rundir import RunDir

SCRIPT = Script("my.py", "0" * 64)


def scenario() -> Scenario:
    return build("ospbench/throughput", engine="spark", settings=["stage=parse", "spark.x=1"], out=Path("out")).scenario


def another(name: str, value: Any) -> Any:
    """A value of the same kind that differs."""
    special = {"script": SCRIPT, "faults": (Fault("kill", "engine", 50, "%"),), "slo": ("latency.p99 < 2s",)}
    if name in special:
        return special[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return (
        {**value, "another": 1} if isinstance(value, dict) else (*value, 7) if isinstance(value, tuple) else "another"
    )


def differing(name: str) -> dict[str, Any]:
    before = scenario()
    changed = replace(before, **{name: another(name, getattr(before, name))})
    return identity.differences(identity.of_scenario(before), identity.of_scenario(changed))


@pytest.mark.parametrize("field", [field.name for field in fields(Scenario) if field.name != "load"])
def test_every_value_of_a_scenario_identifies_it_unless_declared_otherwise(field: str) -> None:
    declared = f"scenario.{field}" in identity.FOLLOWING or field == "broker_port"
    assert bool(differing(field)) is not declared


@pytest.mark.parametrize("field", [field.name for field in fields(LoadPlan)])
def test_every_value_of_a_load_identifies_it_unless_declared_otherwise(field: str) -> None:
    before = scenario()
    load = replace(before.load, **{field: another(field, getattr(before.load, field))})
    differences = identity.differences(identity.of_scenario(before), identity.of_scenario(replace(before, load=load)))
    assert list(differences) == ([] if f"scenario.load.{field}" in identity.FOLLOWING else [f"scenario.load.{field}"])


def test_a_script_counts_by_its_content() -> None:
    with_script = replace(scenario(), script=SCRIPT)
    for script, counts in ((replace(SCRIPT, path="elsewhere.py"), False), (replace(SCRIPT, sha256="1" * 64), True)):
        other = replace(with_script, script=script)
        assert bool(identity.differences(identity.of_scenario(with_script), identity.of_scenario(other))) is counts


def test_a_manifest_has_the_identity_of_its_scenario(tmp_path: Path) -> None:
    request = build("ospbench/throughput", engine="echo", settings=["stage=parse", "steps_per_s=[]"], out=tmp_path)
    written = manifest.describe(plans.draw(request, "run", tmp_path / "work"))
    before = identity.of_scenario(request.scenario)
    after = identity.of_manifest(written)
    assert {name: after[name] for name in before} == before
    assert {name.partition(".")[0] for name in after.keys() - before.keys()} == {
        *("engine", "program", "transport", "machine", "shared_cores")
    }


def test_missing_values_of_an_early_manifest_are_defaults() -> None:
    written = RunDir(Path(__file__).parents[1] / "golden" / "format-1").manifest()
    identifying = identity.of_manifest(written)
    assert "generators" not in written.scenario.as_json() and identifying["scenario.generators"] == 1
    assert "shape" not in written.scenario.load.as_json() and identifying["scenario.load.shape"] == "constant"
    lacking = identity.of_scenario(scenario()).keys() - identifying.keys()
    assert {name for name in lacking if not name.startswith("engine.")} == set(), "it has every current name"


def test_a_name_covers_all_names_below_it() -> None:
    values = {"a": 1, "a.b": 2, "ab": 3, "c.d.e": 4}
    assert identity.ignoring(values, ["a", "c.d"]) == {"ab": 3}


@pytest.mark.parametrize("field", [field.name for field in fields(Scenario) if field.name != "load"])
def test_every_value_is_a_setting_of_a_capacity_search(field: str) -> None:
    before = scenario()
    changed = replace(before, **{field: another(field, getattr(before, field))})
    following = {*identity.FOLLOWING, "scenario.broker_port", "scenario.study", "scenario.name"}
    assert (identifying_settings(changed) == identifying_settings(before)) is (f"scenario.{field}" in following)
