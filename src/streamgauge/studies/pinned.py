"""The settings that recreate a resolved scenario, even if defaults or scenario files change later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.model import Scenario
from streamgauge.studies.parsing import parse_literal
from streamgauge.studies.scenario import Values


def pinned(scenario: Scenario) -> dict[str, str]:
    """Every value of the scenario and option of the engine, as for ``--set``: the inverse of ``resolve``."""
    values = {key: value for key, value in _values(scenario).items() if key in Values.model_fields and key != "engine"}
    options = {key: value for key, value in scenario.engine_options.items() if value is not None}
    every = {scenario.choice: scenario.chosen, **values, **scenario.parameters, **options}
    return {key: _as_setting(value) for key, value in every.items()}


def _values(scenario: Scenario) -> dict[str, Any]:
    load = scenario.load
    return {
        **vars(scenario),
        **vars(load),
        "records": load.preloaded,
        "sustained": scenario.sustained or "none",
    }


def _as_setting(value: Any) -> str:
    """Plain text if it is parsed as the same text, otherwise TOML."""
    plain = isinstance(value, str) and value == value.strip() and parse_literal(value) == value
    return value if plain else _as_toml(value)


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_as_toml(str(key))} = {_as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        # TOML has JSON's escapes, and also requires one for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_as_toml, value)) + "]"
    return repr(value)
