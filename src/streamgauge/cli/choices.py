"""The names that options take, for help and shell completion. Reads entry points and imports no engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points

import typer

PROFILES = ("laptop", "paper")


@cache
def names(kind: str) -> tuple[str, ...]:
    """Registered names of ``engines`` or ``studies``, without the registry, whose import would slow down ``--help``."""
    return tuple(sorted({point.name for point in entry_points(group=f"streamgauge.{kind}")}))


def complete_engine(incomplete: str) -> list[str]:
    return _starting(names("engines"), incomplete)


def complete_study(incomplete: str) -> list[str]:
    return _starting(names("studies"), incomplete)


def complete_profile(incomplete: str) -> list[str]:
    return _starting(PROFILES, incomplete)


def complete_scenario(incomplete: str) -> list[str]:
    from streamgauge.studies import scenario

    return _starting(scenario.names(), incomplete)


def complete_name(incomplete: str) -> list[str]:
    """Whatever ``list`` describes."""
    from streamgauge.cli.catalogue import all_names

    return _starting(all_names(), incomplete)


def complete_setting(context: typer.Context, incomplete: str) -> list[str]:
    """The keys of the scenario and the engine that are on the command line already."""
    from streamgauge import registry
    from streamgauge.errors import UsageError
    from streamgauge.studies import scenario as scenarios

    name, engine = context.params.get("scenario"), context.params.get("engine")
    try:
        keys = scenarios.setting_names(name) if name else set(scenarios.Values.model_fields)
        values = scenarios.profile_values(name, PROFILES[0]) if name else {}
        keys |= set(registry.engine(engine or values.get("engine", "spark")).options.model_fields)
    except UsageError:
        return []
    return _starting((f"{key}=" for key in sorted(keys)), incomplete)


def _starting(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
