"""The models of the stored files match what this version writes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from user_scenarios import PROGRAMS, needed

from run_files import as_written, content
from streamgauge import registry
from streamgauge.errors import Unsupported, UsageError
from streamgauge.measure import manifest
from streamgauge.measure import plan as plans
from streamgauge.model import LoadPlan, Scenario, Stream
from streamgauge.model.manifest import Load, ScenarioUsed, StreamDescription
from streamgauge.model.outcome import Outcome
from streamgauge.rundir import RunDir
from streamgauge.stored import Stored, write_json
from streamgauge.studies import scenario as scenarios


@pytest.mark.parametrize(
    ("model", "kind", "elsewhere", "besides"),
    [
        (Load, LoadPlan, set(), set()),
        (StreamDescription, Stream, {"address"}, {"topic"}),
        (ScenarioUsed, Scenario, {"engine", "engine_options", "broker_port"}, {"stage"}),
    ],
)
def test_a_description_has_the_fields_of_its_class(
    model: type[Stored], kind: type[Any], elsewhere: set[str], besides: set[str]
) -> None:
    """In the same order, which determines the bytes of a file."""
    written = [name for name in model.model_fields if name not in besides]
    assert written == [field.name for field in fields(kind) if field.name not in elsewhere]


@pytest.mark.parametrize("engine", registry.names("engines"))
@pytest.mark.parametrize("name", scenarios.names())
def test_the_manifest_of_every_scenario_passes(name: str, engine: str, tmp_path: Path) -> None:
    file = scenarios.describe(name)
    choice, workload = next(iter(file.workloads.items()))
    changes = {file.choice: choice, **needed(workload)}
    try:
        scenario = scenarios.resolve(name, engine=engine, changes=changes)
    except Unsupported:
        pytest.skip("the engine does not run it")
    request = plans.Request(scenario, tmp_path / "out", program=PROGRAMS.get(engine, ()))
    run = RunDir.create(tmp_path / "out")
    described = manifest.describe(plans.draw(request, "run", tmp_path / "work"))
    run.write_manifest(described)
    assert as_written(RunDir.open(run.path).manifest()) == as_written(described)


def test_an_outcome_passes(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path)
    run.write_outcome(Outcome.blank())
    assert as_written(run.outcome()) == content(run.outcome_path)


GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


@pytest.mark.parametrize(
    ("place", "value", "got", "expected"),
    [
        ("run", 7, "run is 7", "text"),
        ("run", None, "run is None", "text"),
        ("scenario", [], "scenario is a list", "an object"),
        ("scenario.load.rate_per_s", "many", "scenario.load.rate_per_s is 'many'", "a whole number"),
        ("scenario.load.rate_per_s", 1.5, "scenario.load.rate_per_s is 1.5", "a whole number"),
        ("scenario.load.rate_per_s", -1, "scenario.load.rate_per_s is -1", "a number from 0"),
        ("scenario.load.rate_per_s", 10**12, "scenario.load.rate_per_s is 1000000000000", "a number up to 1e+09"),
        ("scenario.load.warmup_s", True, "scenario.load.warmup_s is True", "a number"),
        ("scenario.load.warmup_s", 1e9, "scenario.load.warmup_s is 1000000000.0", "a number from 0 to 1e+07"),
        ("scenario.load.pauses", 1, "scenario.load.pauses is unknown", "the version of streamgauge that wrote it"),
        ("scenario.slo", "fast", "scenario.slo is 'fast'", "a list"),
        ("engine.delivery", "maybe", "engine.delivery is 'maybe'", "one of 'exactly-once', "),
        ("transport.own", 1, "transport.own is 1", "true or false"),
        ("streams", [{"name": "flow"}], "streams[0].topic is missing", None),
        ("calibration", {"scenario": "a/b"}, "calibration.at is missing", None),
    ],
)
def test_a_damaged_value_is_named_with_its_place(
    tmp_path: Path, place: str, value: object, got: str, expected: str | None
) -> None:
    manifest_content = content(GOLDEN / "manifest.json")
    *parts, last = place.split(".")
    section = manifest_content
    for part in parts:
        section = section[part]
    section[last] = value
    write_json(tmp_path / "manifest.json", manifest_content)
    with pytest.raises(UsageError) as refused:
        RunDir.open(tmp_path)
    assert refused.value.what == "manifest.json is damaged"
    assert refused.value.where == tmp_path / "manifest.json"
    assert refused.value.got == got
    assert (refused.value.expected or "").startswith(expected or "")
    assert (refused.value.expected is None) is (expected is None)


def test_keys_of_a_newer_version_are_kept(tmp_path: Path) -> None:
    written = content(GOLDEN / "summary.json") | {"newer": {"a": 1}}
    write_json(tmp_path / "summary.json", written)
    summary = RunDir(tmp_path).summary()
    assert as_written(summary) == written
    RunDir(tmp_path).write_summary(summary.with_changes(verdict="VALID"))
    assert content(tmp_path / "summary.json") == written | {"verdict": "VALID"}


@pytest.mark.parametrize("name", ["outcome", "summary"])
def test_a_file_that_is_written_again_has_the_same_bytes(tmp_path: Path, name: str) -> None:
    """Key by key, and integers stay integers. An early outcome gets its missing keys."""
    (tmp_path / f"{name}.json").write_bytes((GOLDEN / f"{name}.json").read_bytes())
    run = RunDir(tmp_path)
    if name == "summary":
        run.write_summary(run.summary())
        assert run.summary_path.read_bytes() == (GOLDEN / "summary.json").read_bytes()
    else:
        run.write_outcome(run.outcome())
        assert content(GOLDEN / "outcome.json").items() <= content(run.outcome_path).items()
