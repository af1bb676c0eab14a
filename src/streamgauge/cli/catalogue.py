"""Scenarios, engines, studies, workloads and metrics, as `list` prints them and as its JSON.

Every object has ``format`` (1) and ``kind``; the description of one thing also has ``name``. Keys may be added, but are
never removed or renamed within a format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

FORMAT = 1
KINDS = ("scenarios", "engines", "studies", "workloads", "metrics")
WITHOUT_SCHEDULE = ("rate_per_s", "warmup_s", "measured_s", "arrivals", "rising_warmup")
"""Values that do not apply to preloaded input."""


def all_names() -> list[str]:
    """Everything that can be described, kinds included."""
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    named = (name for kind in ("engines", "studies", "workloads") for name in registry.names(kind))
    return [*KINDS, *scenarios.names(), *named]


def describe(name: str) -> dict[str, Any]:
    """One of them. Raises UsageError for an unknown name, with the nearest ones."""
    from streamgauge import registry
    from streamgauge.errors import UsageError, nearest
    from streamgauge.studies import scenario as scenarios

    if name in KINDS:
        return {"format": FORMAT, "kind": name, name: overview(name)}
    known: dict[str, tuple[Iterable[str], Callable[[str], dict[str, Any]]]] = {
        "scenario": (scenarios.names(), _scenario),
        "engine": (registry.names("engines"), _engine),
        "study": (registry.names("studies"), _study),
        "workload": (registry.names("workloads"), _workload),
    }
    for kind, (names, described) in known.items():
        if name in names:
            return {"format": FORMAT, "kind": kind, "name": name, **described(name)}
    near = nearest(name, all_names(), most=3)
    raise UsageError(
        f"unknown name: {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""),
        expected=f"a scenario, engine, study or workload, or one of {', '.join(KINDS)}",
        hint="streamgauge list",
    )


def overview(kind: str) -> list[dict[str, Any]]:
    """A short description of everything of a kind."""
    from streamgauge import registry
    from streamgauge.measure.requirements import lacks
    from streamgauge.metrics import METRICS
    from streamgauge.studies import scenario as scenarios

    if kind == "scenarios":
        return [{"name": name, "title": scenarios.describe(name).title} for name in scenarios.names()]
    if kind == "workloads":
        return [{"name": name, "title": registry.workload(name).title} for name in registry.names("workloads")]
    if kind == "studies":
        return [{"name": name, **_study_line(name)} for name in registry.names("studies")]
    if kind == "metrics":
        return [{"name": name, "units": metric.unit_names} for name, metric in METRICS.items()]
    lacking = {name: lacks(registry.engine(name)) for name in registry.names("engines")}
    return [
        {"name": name, "title": registry.engine(name).title, "ready": not problems, "lacks": problems}
        for name, problems in lacking.items()
    ]


def _scenario(name: str) -> dict[str, Any]:
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    file = scenarios.describe(name)
    profiles = {profile: scenarios.profile_values(name, profile) for profile in scenarios.PROFILES}
    shapes = {str(values["shape"]) for values in profiles.values()}
    used = set().union(*(scenarios.SHAPE_NEEDS.get(shape, set()) for shape in shapes))
    hidden = {*scenarios.SHAPE_VALUES} - used | ({*WITHOUT_SCHEDULE} if shapes == {"preloaded"} else set())
    values = [
        _value(key, field, {profile: at.get(key) for profile, at in profiles.items()})
        for key, field in scenarios.Values.model_fields.items()
        if key not in hidden
    ]
    return {
        "title": file.title,
        "source": file.source,
        "choice": file.choice,
        "choices": dict(file.workloads),
        "engines": {
            engine: [choice for choice, workload in file.workloads.items() if workload in _runs(engine)]
            for engine in registry.names("engines")
        },
        "engine_options": _engine_options(name, file.workloads[str(profiles["laptop"][file.choice])]),
        "values": values,
        "parameters": _parameters(file.workloads, profiles),
        "shapes": {shape: sorted(needs) for shape, needs in scenarios.SHAPE_NEEDS.items() if shape not in shapes},
    }


def _engine_options(name: str, workload: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What the scenario sets of each engine's options, with its own choice of a workload, by profile."""
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    if registry.workload(workload).users_program:
        return {}  # it cannot be resolved without the user's data
    engines = [engine for engine in registry.names("engines") if workload in _runs(engine)]
    return {
        engine: {profile: _own_options(name, profile, engine) for profile in scenarios.PROFILES} for engine in engines
    }


def _own_options(name: str, profile: str, engine: str) -> dict[str, Any]:
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    defaults = registry.engine(engine).options().model_dump()
    options = scenarios.resolve(name, profile=profile, engine=engine).engine_options
    changed = {key: value for key, value in options.items() if value != defaults[key]}
    return {**{key: value for key, value in changed.items() if key != "conf"}, **changed.get("conf", {})}


def _runs(engine: str) -> frozenset[str]:
    from streamgauge import registry

    return registry.engine(engine).traits.workloads


def _parameters(workloads: Mapping[str, str], profiles: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Parameters of the selectable workloads; one key can have a different meaning in each of them."""
    from streamgauge import registry

    parameters: dict[tuple[str, str, str], dict[str, Any]] = {}
    for choice, workload in workloads.items():
        for key, field in registry.workload(workload).parameters.model_fields.items():
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            values = {profile: at.get(key, default) for profile, at in profiles.items()}
            same = (key, str(field.description), str(default))
            parameters.setdefault(same, {**_value(key, field, values), "applies_to": []})["applies_to"].append(choice)
    return list(parameters.values())


def _value(key: str, field: FieldInfo, values: Mapping[str, Any]) -> dict[str, Any]:
    from streamgauge.studies.fields import expected
    from streamgauge.studies.problems import FLAGS

    described = {"key": key, **values, "description": field.description, "expected": expected(key, field)}
    return {**described, "option": FLAGS[key]} if key in FLAGS else described


def _settings(fields: Mapping[str, FieldInfo]) -> list[dict[str, Any]]:
    """With their defaults; None where a scenario sets it."""
    return [
        {"key": key, "default": default, **{name: about[name] for name in ("description", "expected")}}
        for key, field in fields.items()
        for default in [None if field.is_required() else field.get_default(call_default_factory=True)]
        for about in [_value(key, field, {})]
    ]


def _engine(name: str) -> dict[str, Any]:
    from streamgauge import registry
    from streamgauge.measure.requirements import lacks

    engine = registry.engine(name)
    traits, lacking = engine.traits, lacks(engine)
    return {
        "title": engine.title,
        "delivery": traits.delivery,
        "ready": not lacking,
        "lacks": lacking,
        "runs": sorted(traits.workloads),
        "does_not_run": dict(traits.gaps),
        "limits": [
            {"with": dict(limit.options), "does_not_run": sorted(limit.workloads), "reason": limit.reason}
            for limit in traits.limits
        ],
        "options": _settings(engine.options.model_fields),
    }


def _study_line(name: str) -> dict[str, Any]:
    from streamgauge import registry

    study = getattr(registry.study(name), "STUDY", None)
    experiments = len(study.experiments) if study is not None else 0
    state = "reproducible" if experiments else "scenarios only"
    return {"title": study.title if study is not None else name, "state": state, "experiments": experiments}


def _study(name: str) -> dict[str, Any]:
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    line = _study_line(name)
    study = getattr(registry.study(name), "STUDY", None)
    return {
        "title": line["title"],
        "state": line["state"],
        "source": study.source if study is not None else None,
        "scenarios": [scenario for scenario in scenarios.names() if scenario.startswith(f"{name}/")],
        "experiments": [experiment.name for experiment in study.experiments] if study is not None else [],
        "systems": dict(study.engines) if study is not None else {},
        "scale": dict(study.scale) if study is not None else {},
    }


def _workload(name: str) -> dict[str, Any]:
    from streamgauge import registry
    from streamgauge.studies import scenario as scenarios

    workload = registry.workload(name)
    engines = {one: registry.engine(one).traits for one in registry.names("engines")}
    return {
        "title": workload.title,
        "results": workload.kind.value,
        "inputs": [stream.name for stream in workload.inputs],
        "outputs": list(workload.outputs),
        "scenarios": [one for one in scenarios.names() if name in scenarios.describe(one).workloads.values()],
        "engines": [one for one, traits in engines.items() if name in traits.workloads],
        "not_run_by": {
            one: traits.gaps.get(name, "it has no program for this workload")
            for one, traits in engines.items()
            if name not in traits.workloads
        },
        "parameters": _settings(workload.parameters.model_fields),
    }
