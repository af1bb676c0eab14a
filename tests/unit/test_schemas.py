"""The models of the stored files know what this version writes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from run_files import as_written, content
from streamgauge import registry
from streamgauge.errors import Unsupported
from streamgauge.model import LoadPlan, Scenario, Stream
from streamgauge.model.manifest import Load, ScenarioUsed, StreamDescription
from streamgauge.model.outcome import Outcome
from streamgauge.run import manifest
from streamgauge.run import plan as plans
from streamgauge.rundir import RunDir
from streamgauge.stored import Stored
from streamgauge.studies import scenario as scenarios


@pytest.mark.parametrize(
    ("model", "kind", "elsewhere", "besides"),
    [
        (Load, LoadPlan, set(), set()),
        (StreamDescription, Stream, set(), set()),
        (ScenarioUsed, Scenario, {"engine", "engine_options", "broker_port"}, {"stage"}),
    ],
)
def test_a_description_has_the_fields_of_its_class(
    model: type[Stored], kind: type[Any], elsewhere: set[str], besides: set[str]
) -> None:
    assert set(model.model_fields) - besides == {field.name for field in fields(kind)} - elsewhere


@pytest.mark.parametrize("engine", registry.names("engines"))
@pytest.mark.parametrize("name", scenarios.names())
def test_the_manifest_of_every_scenario_passes(name: str, engine: str, tmp_path: Path) -> None:
    try:
        scenario = scenarios.resolve(name, engine=engine)
    except Unsupported:
        pytest.skip("the engine does not run it")
    request = plans.Request(scenario, tmp_path / "out", program=("cat",) if engine == "command" else ())
    run = RunDir.create(tmp_path / "out")
    described = manifest.describe(plans.draw(request, "run", tmp_path / "work"))
    run.write_manifest(described)
    assert as_written(RunDir.open(run.path).manifest()) == as_written(described)


def test_an_outcome_passes(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path)
    run.write_outcome(Outcome.blank())
    assert as_written(run.outcome()) == content(run.outcome_path)
