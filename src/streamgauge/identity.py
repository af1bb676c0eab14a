"""What identifies a measurement: the one definition, for everyone who asks whether two are of the same thing.

Everything in a scenario identifies it, so that a new value cannot be forgotten; ``FOLLOWING`` lists what does not, and
why. Besides, it is the engine, the transport and the machine. Code that compares less than that (for example because
engines are what is compared) passes the names to ignore, each with its reason; a name stands for all below it.
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
"""Names that are not looked at, each with the reason."""

EARLY = ("pipeline", "dataset", "keys", "out_of_order_ms")
FOLLOWING: Ignored = {
    "scenario.title": "a text for people",
    "scenario.scaled": "follows from the values and the paper's",
    "scenario.load.seed": "is the scenario's seed",
    "scenario.stage": "is what was chosen",
    **{f"scenario.{name}": "early manifests have it beside workload and parameters" for name in EARLY},
    "scenario.script.path": "its content counts, wherever it lies",
    "scenario.script.key": "follows from the content",
    "scenario.script.settles_s": "follows from the content",
}
NOT_IN_MANIFEST: Ignored = {
    "engine": "has a part of its own in the manifest",
    "engine_options": "are in that part",
    "broker_port": "any free one does",
}
DERIVED = ("stage", *EARLY)
"""What a manifest says, or said, about a scenario besides its fields."""
ENGINE = ("name", "version", "options")
"""The rest of what a manifest says about the engine follows from these."""
TRANSPORT = ("name", "own", "topic_settings")
"""Not where it listens."""
MACHINE = ("system", "cpu", "cores")
"""Not how busy it was."""

Identity = dict[str, Any]
"""Each name, as in ``scenario.load.rate_per_s``, with its value."""


def describe(scenario: Scenario) -> dict[str, Any]:
    """The scenario as its manifest has it."""
    content = {name: value for name, value in asdict(scenario).items() if name not in NOT_IN_MANIFEST}
    # What the format has called the choice since before other scenarios had other words for it.
    return {**content, "stage": scenario.chosen}


def of_scenario(scenario: Scenario) -> Identity:
    """Of a measurement that was not made yet: its scenario, engine and options, without secrets."""
    engine = {"name": scenario.engine, "options": redact_options(scenario.engine_options)}
    return _identity({"scenario": describe(scenario), "engine": engine})


def of_manifest(manifest: Manifest, shared_cores: bool | None = None) -> Identity:
    """Of a run. What an earlier version did not write has the value that is the default now."""
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
    """The values of a scenario that have a default: those that a file of an earlier version may lack."""
    return {name: value for name, value in _defaults(Scenario).items() if name not in NOT_IN_MANIFEST}


def load_defaults() -> dict[str, Any]:
    """As ``defaults``, of its load."""
    return _defaults(LoadPlan)


def ignoring(identity: Identity, ignored: Iterable[str]) -> Identity:
    names = tuple(ignored)
    return {
        name: value
        for name, value in identity.items()
        if not any(name == one or name.startswith(f"{one}.") for one in names)
    }


def differences(a: Identity, b: Identity, ignored: Iterable[str] = ()) -> dict[str, tuple[Any, Any]]:
    """The names in which two measurements differ, each with both values; null where one does not have it."""
    left, right = ignoring(a, ignored), ignoring(b, ignored)
    names = dict.fromkeys([*left, *right])
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def _identity(content: Mapping[str, Any]) -> Identity:
    # Through JSON: a manifest that was read has lists where a scenario has tuples.
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
