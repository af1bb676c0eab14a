"""The schemas know what this version writes."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from streamgauge import registry, schemas
from streamgauge.errors import Unsupported
from streamgauge.model import LoadPlan, Stream
from streamgauge.model.outcome import Outcome
from streamgauge.run import manifest
from streamgauge.run import plan as plans
from streamgauge.rundir import RunDir
from streamgauge.stored import check
from streamgauge.studies import scenario as scenarios


def test_an_exact_object_has_the_fields_of_its_class() -> None:
    (stream,) = schemas.MANIFEST["streams"]  # type: ignore[misc]
    for schema, kind in ((schemas.LOAD, LoadPlan), (stream, Stream)):
        assert {key.removesuffix("?") for key in schema.keys} == {field.name for field in fields(kind)}


@pytest.mark.parametrize("engine", registry.names("engines"))
@pytest.mark.parametrize("name", scenarios.names())
def test_the_manifest_of_every_scenario_passes(name: str, engine: str, tmp_path: Path) -> None:
    try:
        scenario = scenarios.resolve(name, engine=engine)
    except Unsupported:
        pytest.skip("the engine does not run it")
    request = plans.Request(scenario, tmp_path / "out", program=("cat",) if engine == "command" else ())
    written = json.loads(json.dumps(manifest.describe(plans.draw(request, "run", tmp_path / "work"))))
    check(tmp_path, written, schemas.MANIFEST)


def test_an_outcome_passes(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path)
    run.write_outcome(Outcome.blank())
    assert json.loads(json.dumps(run.outcome().as_json())) == json.loads(run.outcome_path.read_bytes())
