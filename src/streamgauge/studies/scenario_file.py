"""Scenario files: TOML, data only."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError, one_of
from streamgauge.studies.problems import mistakes


class Strict(BaseModel):
    """No unknown keys, no implicit conversion."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Case(Strict):
    """Options that replace those of the profile for some workloads or variants."""

    when: dict[str, list[Any]]
    """The choice among the workloads, and options of the engine: one of these values each."""
    options: dict[str, Any]

    def applies(self, facts: Mapping[str, Any]) -> bool:
        return all(facts.get(key) in values for key, values in self.when.items())


class Profile(BaseModel):
    """A profile sets some of the values; the others are common to all profiles."""

    model_config = ConfigDict(extra="allow")
    engines: dict[str, dict[str, Any]] = {}
    cases: dict[str, list[Case]] = {}
    """By engine; of two that apply, the later one counts."""


class ScenarioFile(Strict):
    title: str
    source: str
    published: bool = True
    """Whether the paper profile has the values of a publication."""
    choice: str
    """The name of the choice among the workloads, as in --set stage=…"""
    workloads: dict[str, str]
    """The choices, and the workload of each."""
    common: Profile
    paper: Profile
    laptop: Profile


def names() -> list[str]:
    """Every scenario of every study, as ``study/scenario``."""
    scenarios = []
    for study in registry.names("studies"):
        folder = resources.files(registry.study(study))
        scenarios += [f"{study}/{f.name.removesuffix('.toml')}" for f in folder.iterdir() if f.name.endswith(".toml")]
    return sorted(scenarios)


@cache
def describe(name: str) -> ScenarioFile:
    """The validated scenario file ``study/scenario``."""
    if name not in names():
        if name in registry.names("studies"):
            raise UsageError(
                f"{name} is a study, not a scenario",
                expected=one_of(one for one in names() if one.startswith(f"{name}/")),
                hint=f"streamgauge reproduce {name} to run the whole study",
            )
        if running := _running(name):
            (one, choice), *_ = running
            raise UsageError(
                f"{name} is a workload, not a scenario",
                expected=f"a scenario that runs it: {', '.join(one for one, _ in running)}",
                hint=f"streamgauge run {one} --set {choice}",
            )
        raise registry.unknown("scenario", name, names(), hint="streamgauge list")
    study, _, scenario = name.partition("/")
    text = (resources.files(registry.study(study)) / f"{scenario}.toml").read_text(encoding="utf-8")
    return parse_file(text, where=f"{name}.toml")


def _running(workload: str) -> list[tuple[str, str]]:
    """The scenarios that run a workload, by its name or by what they call it, each with its setting."""
    files = [(name, describe(name)) for name in names()]
    return [
        (name, f"{file.choice}={chosen}")
        for name, file in files
        for chosen, full_name in file.workloads.items()
        if workload in (chosen, full_name)
    ]


def choices() -> frozenset[str]:
    """What the scenarios of all studies call their choice of a workload."""
    return frozenset(describe(name).choice for name in names())


def parse_file(text: str, where: str) -> ScenarioFile:
    """Validate the text of a scenario file. Raises UsageError with all problems at once."""
    try:
        return ScenarioFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise UsageError("the scenario file is not valid TOML", where=where, got=str(problem)) from None
    except ValidationError as problem:
        raise UsageError(
            "the scenario file has mistakes", where=where, got="; ".join(mistakes(problem, ScenarioFile.model_fields))
        ) from None
