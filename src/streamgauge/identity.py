"""What identifies a measurement: the single definition of when two measurements are of the same thing.

Every value of a scenario is part of the identity, so that a new value cannot be forgotten; ``FOLLOWING`` lists the
exceptions and why. The engine, the transport and the machine are part of it too. Code that compares less (for example
because it compares engines) passes the names to ignore, with the reason; a name covers all names below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from streamgauge.model import LoadPlan, Scenario
from streamgauge.model.manifest import Manifest
from streamgauge.redaction import redact_options

Ignored = Mapping[str, str]
"""Names that are ignored, with the reason."""

EARLY = ("pipeline", "dataset", "keys", "out_of_order_ms")
FOLLOWING: Ignored = {
    "scenario.title": "text for readers",
    "scenario.scaled": "follows from the values",
    "scenario.load.seed": "is the scenario's seed",
    "scenario.stage": "same as the choice",
    **{f"scenario.{name}": "early manifests have it beside workload and parameters" for name in EARLY},
    "scenario.script.path": "only the content matters",
    "scenario.script.key": "follows from the content",
    "scenario.script.settles_s": "follows from the content",
}
NOT_IN_MANIFEST: Ignored = {
    "engine": "separate in the manifest",
    "engine_options": "part of the engine there",
    "broker_port": "any free port works",
}
DERIVED = ("stage", *EARLY)
"""Entries of a scenario in a manifest, now or in early versions, that are not its fields."""
ENGINE = ("name", "version", "options")
"""Everything else about the engine in a manifest follows from these."""
TRANSPORT = ("name", "own", "topic_settings")
"""Without its address."""
MACHINE = ("system", "cpu", "cores")
"""Without its load."""

Identity = dict[str, Any]
"""Dotted names, such as ``scenario.load.rate_per_s``, with their values."""


def describe(scenario: Scenario) -> dict[str, Any]:
    """The scenario as its manifest has it."""
    content = {name: value for name, value in asdict(scenario).items() if name not in NOT_IN_MANIFEST}
    # The key for the choice dates from when every scenario chose a stage.
    return {**content, "stage": scenario.chosen}


def of_scenario(scenario: Scenario) -> Identity:
    """The identity of a planned measurement: its scenario, engine and options, without secrets."""
    engine = {"name": scenario.engine, "options": redact_options(scenario.engine_options)}
    return _identity({"scenario": describe(scenario), "engine": engine})


def of_manifest(manifest: Manifest, shared_cores: bool | None = None) -> Identity:
    """The identity of a run. Values that an earlier version did not write have today's default."""
    scenario = {**defaults(), **manifest.scenario.as_json()}
    return _identity(
        {
            "scenario": {**scenario, "load": asdict(manifest.scenario.load.plan())},
            "engine": _only(manifest.engine.as_json(), ENGINE),
            "program": manifest.program or [],
            "transport": _only(manifest.transport.as_json(), TRANSPORT),
            "machine": _only(manifest.machine.as_json(), MACHINE),
            "shared_cores": shared_cores,
        }
    )


def defaults() -> dict[str, Any]:
    """The values of a scenario with a default: those that an earlier file may lack."""
    return {name: value for name, value in _defaults(Scenario).items() if name not in NOT_IN_MANIFEST}


def load_defaults() -> dict[str, Any]:
    """Like ``defaults``, for its load."""
    return _defaults(LoadPlan)


def ignoring(identity: Identity, ignored: Iterable[str]) -> Identity:
    names = tuple(ignored)
    return {
        name: value
        for name, value in identity.items()
        if not any(name == one or name.startswith(f"{one}.") for one in names)
    }


def differences(a: Identity, b: Identity, ignored: Iterable[str] = ()) -> dict[str, tuple[Any, Any]]:
    """The names in which two measurements differ, with both values; None if one lacks it."""
    left, right = ignoring(a, ignored), ignoring(b, ignored)
    names = dict.fromkeys([*left, *right])
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def _identity(content: Mapping[str, Any]) -> Identity:
    # Through JSON: a manifest from disk has lists where a scenario has tuples.
    return ignoring(dict(_leaves("", json.loads(json.dumps(content)))), FOLLOWING)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, item)
    else:
        yield name, value


def _only(content: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: content.get(name) for name in names}


def _defaults(of: type[Scenario] | type[LoadPlan]) -> dict[str, Any]:
    values = {field.name: field.default for field in fields(of) if field.default is not MISSING}
    return values | {f.name: f.default_factory() for f in fields(of) if f.default_factory is not MISSING}
