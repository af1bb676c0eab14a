"""Resolves scenario files (TOML, data only) and changes from the command line into a `Scenario`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.contracts import Engine, Workload
from streamgauge.errors import Unsupported, UsageError
from streamgauge.model import QUIET_S, LoadPlan, Scenario, Script
from streamgauge.shapes import Arrivals, ShapeName
from streamgauge.studies.parsing import parse_literal

PROFILES = ("laptop", "paper")

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """No unknown keys, no implicit conversion."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


WEEK_S = 7 * 24 * 3600
RATE_MAX = 10_000_000
LATE_S = 0.5
"""More than the load can be late in a valid run."""
Rate = Annotated[int, Field(ge=1, le=RATE_MAX)]


class Values(Strict):
    """Every value of a scenario that can be set."""

    engine: str = Field(description="system under test")
    rate_per_s: Annotated[int, Field(ge=0, le=RATE_MAX)] = Field(
        default=0, description="records per second, all streams together"
    )
    warmup_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(default=0.0, description="length of the warm-up, s")
    measured_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="length of the measured interval, s"
    )
    records: Annotated[int, Field(ge=0, le=10**10)] = Field(
        default=0, description="for shape preloaded: records sent before the engine starts"
    )
    partitions: Annotated[int, Field(ge=1, le=1000)] = Field(
        description="partitions per stream", json_schema_extra={"harder": "less"}
    )
    drain_deadline_s: Annotated[float, Field(ge=1, le=WEEK_S)] = Field(
        description="maximum wait for results after the load, s"
    )
    quiet_s: Annotated[float, Field(ge=0.5, le=3600)] = Field(
        default=QUIET_S, description="minimum silence that ends the wait for results, s"
    )
    shape: ShapeName = Field(default="constant", description="how the rate changes over the run")
    arrivals: Arrivals = Field(default="even", description="evenly spaced, or random (a Poisson process)")
    steps_per_s: list[Rate] = Field(
        default=[], description="for shape steps: rates of equal parts of the measured interval"
    )
    to_per_s: Annotated[int, Field(ge=0, le=RATE_MAX)] = Field(
        default=0, description="for shape ramp: final rate; for shape fluctuating: low rate"
    )
    burst_records: Annotated[int, Field(ge=0, le=10**9)] = Field(default=0, description="for bursts: records per burst")
    burst_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="for bursts: duration of a burst, s"
    )
    burst_every_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="for shape periodic-burst: time between the starts of two bursts, s"
    )
    rising_warmup: bool = Field(
        default=False, description="let the rate rise from 0 during the warm-up, so that a cold engine can keep up"
    )
    generators: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="number of load workers", json_schema_extra={"harder": None}
    )
    sustained: Literal["slope", "ospbench", "sustainable", "scalability", "none"] = Field(
        description="rule that decides whether the rate was sustained"
    )
    seed: Annotated[int, Field(ge=0)] = Field(
        description="seed of the data and of all random choices", json_schema_extra={"harder": None}
    )
    broker_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        description="port of the embedded server; 0 = any free port", json_schema_extra={"harder": None}
    )

    @model_validator(mode="after")
    def _shape_has_its_values(self) -> Self:
        """Each shape needs some values and would silently ignore the others."""
        set_ = {key for key in SHAPE_VALUES if getattr(self, key)}
        needed = SHAPE_NEEDS.get(self.shape, set())
        if self.shape == "preloaded":
            set_ |= {key for key in ("rate_per_s", "warmup_s", "measured_s") if getattr(self, key)}
        elif self.rate_per_s < 1 or self.measured_s < 1:
            raise ValueError(
                f"shape {self.shape} needs rate_per_s and measured_s, at least 1 each; "
                f"got {self.rate_per_s} and {self.measured_s:g}"
            )
        if needed - set_:
            raise ValueError(f"shape {self.shape} needs {', '.join(sorted(needed - set_))}")
        if unused := sorted(set_ - needed):
            without = " ".join(f"--set {key}={'[]' if key == 'steps_per_s' else 0}" for key in unused)
            raise ValueError(f"shape {self.shape} does not use {', '.join(unused)} (to remove: {without})")
        if self.shape == "periodic-burst" and self.burst_s >= self.burst_every_s:
            raise ValueError("burst_s must be shorter than burst_every_s")
        lasts_s = self.warmup_s + self.measured_s
        for key in ("burst_s", "burst_every_s"):
            if getattr(self, key) > lasts_s:
                raise ValueError(f"{key} must not exceed warm-up plus measured interval ({lasts_s:g} s)")
        if self.shape in ("unlimited", "preloaded") and self.arrivals != "even":
            raise ValueError(f"shape {self.shape} has no schedule, so arrivals must be even")
        if self.rising_warmup and self.shape in ("single-burst", "periodic-burst", "unlimited", "preloaded"):
            raise ValueError(f"shape {self.shape} does not support rising_warmup")
        return self


SHAPE_NEEDS: Mapping[str, set[str]] = {
    "steps": {"steps_per_s"},
    "ramp": {"to_per_s"},
    "fluctuating": {"to_per_s"},
    "single-burst": {"burst_records", "burst_s"},
    "periodic-burst": {"burst_records", "burst_s", "burst_every_s"},
    "preloaded": {"records"},
}
SHAPE_VALUES = sorted(set().union(*SHAPE_NEEDS.values()))


class _Profile(BaseModel):
    """A profile sets some of the values; the others are common to all profiles."""

    model_config = ConfigDict(extra="allow")
    engines: dict[str, dict[str, Any]] = {}


class _File(Strict):
    title: str
    source: str
    choice: str
    """The name of the choice among the workloads, as in --set stage=…"""
    workloads: dict[str, str]
    """The choices, and the workload of each."""
    common: _Profile
    paper: _Profile
    laptop: _Profile


def names() -> list[str]:
    """Every scenario of every study, as ``study/scenario``."""
    scenarios = []
    for study in registry.names("studies"):
        folder = resources.files(registry.study(study))
        scenarios += [f"{study}/{f.name.removesuffix('.toml')}" for f in folder.iterdir() if f.name.endswith(".toml")]
    return sorted(scenarios)


@cache
def describe(name: str) -> _File:
    """The validated scenario file ``study/scenario``."""
    if name not in names():
        raise registry.unknown("scenario", name, names(), hint="streamgauge list")
    study, _, scenario = name.partition("/")
    text = (resources.files(registry.study(study)) / f"{scenario}.toml").read_text(encoding="utf-8")
    return parse_file(text, where=f"{name}.toml")


def parse_file(text: str, where: str) -> _File:
    """Validate the text of a scenario file. Raises UsageError with all problems at once."""
    try:
        return _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise UsageError("the scenario file is not valid TOML", where=where, got=str(problem)) from None
    except ValidationError as problem:
        raise _all_problems("scenario file", where, problem, _File.model_fields) from None


def profile_values(name: str, profile: str) -> dict[str, Any]:
    """The values of a scenario in a profile, including defaults."""
    file = describe(name)
    if profile not in PROFILES:
        raise registry.unknown("profile", profile, PROFILES)
    chosen: _Profile = getattr(file, profile)
    defaults = {key: field.default for key, field in Values.model_fields.items() if not field.is_required()}
    return {**defaults, **(file.common.model_extra or {}), **(chosen.model_extra or {})}


def parameter_fields(name: str) -> dict[str, FieldInfo]:
    """Every parameter of the scenario's workloads."""
    workloads = (registry.workload(workload) for workload in describe(name).workloads.values())
    return {key: field for workload in workloads for key, field in workload.parameters.model_fields.items()}


def setting_names(name: str) -> set[str]:
    """Everything that can be set for the scenario with any engine: values, parameters and the choice of workload."""
    return {*Values.model_fields, *parameter_fields(name), describe(name).choice}


def _choices_with(file: _File, parameter: str) -> list[str]:
    """The choices whose workload has that parameter."""
    return [
        choice
        for choice, workload in file.workloads.items()
        if parameter in registry.workload(workload).parameters.model_fields
    ]


def resolve(
    name: str,
    *,
    profile: str = "laptop",
    changes: Mapping[str, str] | None = None,
    engine: str | None = None,
    slo: Iterable[str] = (),
    script: Script | None = None,
) -> Scenario:
    """The scenario with the profile's values and the user's changes. Raises UsageError with every problem.

    A ``script`` replaces the workload, so the engine need not support the workload.
    """
    file = describe(name)
    values = profile_values(name, profile)
    profile_engines: _Profile = getattr(file, profile)
    given = {key: parse_literal(text) for key, text in (changes or {}).items()}
    if engine is not None:
        given["engine"] = engine
    all_parameters = parameter_fields(name)
    of_scenario = {*Values.model_fields, *all_parameters, file.choice}
    values |= {key: value for key, value in given.items() if key in of_scenario}
    chosen = str(values.pop(file.choice, ""))
    if chosen not in file.workloads:
        raise registry.unknown(f"{file.choice} of {name}", chosen, file.workloads)
    workload = registry.workload(file.workloads[chosen])
    own_parameters = workload.parameters.model_fields
    for key in given:
        if key in all_parameters and key not in own_parameters:
            having = _choices_with(file, key)
            raise UsageError(
                f"{file.choice} {chosen} has no parameter {key}",
                where=f"{name}, set on the command line",
                expected=f"{key} only with {file.choice} {', '.join(having)}",
                hint=f"streamgauge plan {name} --set {file.choice}={having[0]} --set {key}=…",
            )
    parameters = {key: values[key] for key in own_parameters if key in values}
    values = {key: value for key, value in values.items() if key not in all_parameters}
    system = registry.engine(str(values.get("engine", "")))
    defaults = {**file.common.engines.get(system.name, {}), **profile_engines.engines.get(system.name, {})}
    for_engine = {key: value for key, value in given.items() if key not in of_scenario}
    checked, options, parameters = _check(
        name, values, system, {**defaults, **for_engine}, workload, parameters, file.choice, set(given)
    )
    study, _, scenario = name.partition("/")
    if script is None:
        _refuse_unsupported(system, workload.name, options)
    elif not workload.outputs:
        raise UsageError(f"workload {workload.name} has no output for the results of a script", got=script.path)
    elif not system.traits.takes_script:
        raise UsageError(f"engine {system.name} does not support scripts", got=script.path, hint="--engine spark")
    return Scenario(
        study=study,
        name=scenario,
        profile=profile,
        title=file.title,
        workload=workload.name,
        choice=file.choice,
        chosen=chosen,
        engine=system.name,
        engine_options=options,
        load=LoadPlan(
            rate_per_s=checked.rate_per_s,
            warmup_s=checked.warmup_s,
            measured_s=checked.measured_s,
            tail_s=_tail_s(workload, checked, parameters, script, system.batch_interval_s(options)),
            shape=checked.shape,
            preloaded=checked.records,
            arrivals=checked.arrivals,
            steps_per_s=tuple(checked.steps_per_s),
            to_per_s=checked.to_per_s,
            burst_records=checked.burst_records,
            burst_s=checked.burst_s,
            burst_every_s=checked.burst_every_s,
            rising_warmup=checked.rising_warmup,
            seed=checked.seed,
        ),
        partitions=checked.partitions,
        drain_deadline_s=checked.drain_deadline_s,
        quiet_s=checked.quiet_s,
        sustained=None if checked.sustained == "none" else checked.sustained,
        seed=checked.seed,
        broker_port=checked.broker_port,
        generators=checked.generators,
        slo=tuple(slo),
        parameters=parameters,
        scaled=_scaled({**dict(checked), **parameters}, profile_values(name, "paper")),
        script=script,
    )


def _tail_s(
    workload: Workload, checked: Values, parameters: Mapping[str, Any], script: Script | None, batch_interval_s: float
) -> float:
    """Load after the measured interval that an engine needs to complete the last results."""
    if checked.shape == "preloaded":
        return 0.0
    # The last record may be late, and an engine should process it under load.
    tail_s = workload.settles_s(parameters) + LATE_S
    if workload.kind.stateful:
        # A watermark follows the newest record of each stream, which precedes the end of the load slightly.
        tail_s += len(workload.inputs) / checked.rate_per_s
    return max(tail_s, script.settles_s if script else 0.0) + 2 * batch_interval_s


def _refuse_unsupported(system: Engine, workload: str, options: Mapping[str, Any]) -> None:
    """Raises Unsupported with the engine's reason."""
    if workload not in system.traits.workloads:
        reason = system.traits.gaps.get(workload, "it has no program for this workload")
        raise Unsupported(f"engine {system.name} does not run {workload}", got=reason, hint="streamgauge list")
    for limit in system.traits.limits:
        if limit.applies(workload, options):
            settings = ", ".join(f"{key}={value}" for key, value in limit.options.items())
            raise Unsupported(
                f"engine {system.name} does not run {workload} with {settings}",
                got=limit.reason,
                hint="streamgauge list",
            )


def _scaled(here: Mapping[str, Any], paper: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values that differ from the paper, except those that are free to choose."""
    free = {"engine", "seed", "broker_port", "generators"}
    return {
        key: (value, paper[key])
        for key, value in here.items()
        if key not in free and key in paper and value != paper[key]
    }


def _check(
    name: str,
    values: Mapping[str, Any],
    system: Engine,
    for_engine: Mapping[str, Any],
    workload: Workload,
    parameters: Mapping[str, Any],
    choice: str,
    given: set[str],
) -> tuple[Values, dict[str, Any], dict[str, Any]]:
    problems: list[str] = []
    known = [choice, *Values.model_fields, *workload.parameters.model_fields, *system.options.model_fields]

    def validated(model: type[Model], content: Mapping[str, Any]) -> Model | None:
        try:
            return model.model_validate(content)
        except ValidationError as problem:
            problems.extend(_lines(problem, known))
            return None

    checked = validated(Values, values)
    parameter_model = validated(workload.parameters, parameters)
    options = validated(system.options, for_engine)
    if checked is None or options is None or parameter_model is None:
        raise UsageError(
            f"{len(problems)} values of the scenario are invalid" if len(problems) > 1 else problems[0],
            where=f"{name} with engine {system.name}" + (", set on the command line" if given else ""),
            got="; ".join(problems) if len(problems) > 1 else None,
            hint=f"streamgauge plan {name} --engine {system.name}",
        )
    return checked, options.model_dump(exclude_none=False), parameter_model.model_dump()


def _lines(problem: ValidationError, known: Iterable[str]) -> list[str]:
    """One line per problem; for an unknown key, with the nearest known one."""
    lines = []
    for error in problem.errors():
        key = ".".join(str(part) for part in error["loc"])
        if error["type"] == "extra_forbidden":
            lines.append(f"unknown key {key!r} ({registry.unknown('key', key, known).expected})")
        elif error["type"] == "missing":
            lines.append(f"{key} is missing")
        elif not key:
            # From a validator of the whole model; pydantic prefixes its message with "Value error, ".
            lines.append(str(error["ctx"]["error"]))
        else:
            lines.append(f"{key}: {error['msg']}, got {error['input']!r}")
    return lines


def _all_problems(what: str, where: str | Path, problem: ValidationError, known: Iterable[str]) -> UsageError:
    return UsageError(f"invalid {what}", where=where, got="; ".join(_lines(problem, known)))
