"""A scenario of your own: a TOML file that extends a built-in one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.studies import fields, own_script
from streamgauge.studies.parsing import Setting
from streamgauge.studies.problems import mistakes
from streamgauge.studies.scenario import Values
from streamgauge.studies.scenario_file import Strict, describe, names

ENDING = ".toml"
SCHEMA = "https://json-schema.org/draft/2020-12/schema"


class OwnScenario(Strict):
    """What the file says; the command line may say otherwise."""

    extends: str = Field(description="the scenario whose values it has otherwise, as STUDY/NAME")
    engine: str | None = Field(default=None, description="the system under test; by default the scenario's")
    slo: list[str] = Field(default=[], description="conditions that must hold, such as latency.p99 < 2s")
    faults: list[str] = Field(default=[], description="disturbances, such as kill worker-1 at 50%")
    set: dict[str, Any] = Field(default={}, description="values of the scenario and its workload")
    engines: dict[str, dict[str, Any]] = Field(default={}, description="options of engines, by their names")

    def settings(self, path: Path, engine: str | None) -> Iterator[Setting]:
        """Its values, and its options of the engine that is used: ``engine``, if the command line names one."""
        if self.engine is not None:
            yield _setting("engine", self.engine, path)
        used = engine or self.engine or str((describe(self.extends).common.model_extra or {}).get("engine"))
        yield from (_setting(key, value, path) for key, value in self.set.items())
        yield from (_setting(key, value, path) for key, value in self.engines.get(used, {}).items())


def _setting(key: str, value: Any, path: Path) -> Setting:
    return Setting(key, fields.as_typed(value), f"{key} = {value!r} in {path}")


def is_own(scenario: str) -> bool:
    return scenario.endswith(ENDING)


def base_of(scenario: str) -> str:
    """The name of a built-in scenario: its own, that which the file extends, or that of a script."""
    if own_script.is_own(scenario):
        return own_script.SCENARIO
    return read(Path(scenario)).extends if is_own(scenario) else scenario


def read(path: Path) -> OwnScenario:
    """Raises UsageError with every mistake."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError("the scenario file cannot be read", where=path, got=problem.strerror) from None
    except ValueError as problem:  # not UTF-8, or not TOML
        raise UsageError("the scenario file is not valid TOML", where=path, got=str(problem)) from None
    try:
        own = OwnScenario.model_validate(content)
    except ValidationError as problem:
        raise UsageError(
            "the scenario file has mistakes",
            where=path,
            got="; ".join(mistakes(problem, OwnScenario.model_fields)),
            hint="streamgauge schema",
        ) from None
    if own.extends not in names():
        raise registry.unknown("scenario", own.extends, names(), hint=f"extends = … in {path}; streamgauge list")
    if unknown := [name for name in own.engines if name not in registry.names("engines")]:
        raise registry.unknown("engine", unknown[0], registry.names("engines"), hint=f"[engines.…] in {path}")
    return own


def schema() -> dict[str, Any]:
    """The JSON schema of such a file: for editors, which complete and check it."""
    described = OwnScenario.model_json_schema()
    properties = described["properties"]
    properties["extends"]["enum"] = names()
    properties["engine"] = {"enum": registry.names("engines"), "description": properties["engine"]["description"]}
    values = dict(Values.model_json_schema()["properties"])
    for name in registry.names("workloads"):
        values |= registry.workload(name).parameters.model_json_schema()["properties"]
    for value in values.values():
        # They may be written as on the command line, too: "10k", "1m30s".
        value.pop("default", None)
    properties["set"] |= {"properties": {name: _or_text(value) for name, value in values.items()}}
    properties["engines"] = {
        "type": "object",
        "description": properties["engines"]["description"],
        "properties": {
            name: {
                "type": "object",
                "properties": {
                    key: _or_text(value)
                    for key, value in registry.engine(name).options.model_json_schema()["properties"].items()
                },
            }
            for name in registry.names("engines")
        },
        "additionalProperties": False,
    }
    return {"$schema": SCHEMA, **described, "title": "A scenario of streamgauge"}


def _or_text(value: dict[str, Any]) -> dict[str, Any]:
    about = {key: part for key, part in value.items() if key in ("description", "default")}
    rest = {key: part for key, part in value.items() if key not in ("description", "default", "title", "$ref")}
    return {**about, "anyOf": [rest, {"type": "string"}]} if rest else about
