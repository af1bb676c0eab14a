"""Resolves scenario files (TOML, data only) and changes from the command line into a `Scenario`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.contracts import Engine, Workload
from streamgauge.defaults import TRANSPORT, USE_TRANSPORT
from streamgauge.errors import Unsupported, UsageError
from streamgauge.model import QUEUE_BOUND_S, QUIET_S, LoadPlan, Scenario, Script
from streamgauge.shapes import Arrivals, ShapeName
from streamgauge.studies import fields as values_of
from streamgauge.studies.parsing import parse_text
from streamgauge.studies.problems import all_problems, typed_option, unknown_choice, unknown_setting, unused_values
from streamgauge.studies.problems import describe as describe_problems
from streamgauge.studies.scenario_file import Case, Profile, ScenarioFile, Strict, choices, describe, names, parse_file

__all__ = ["PROFILES", "Values", "describe", "names", "parse_file", "profile_values", "resolve"]

PROFILES = ("laptop", "paper")

Model = TypeVar("Model", bound=BaseModel)


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
    warmup_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="length of the warm-up, s", json_schema_extra={"harder": None}
    )
    measured_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="length of the measured interval, s", json_schema_extra={"harder": None}
    )
    records: Annotated[int, Field(ge=0, le=10**10)] = Field(
        default=0,
        description="for shape preloaded: records sent before the engine starts",
        json_schema_extra={"harder": None},
    )
    partitions: Annotated[int, Field(ge=1, le=1000)] = Field(
        description="partitions per stream", json_schema_extra={"harder": "less"}
    )
    drain_deadline_s: Annotated[float, Field(ge=1, le=WEEK_S)] = Field(
        description="maximum wait for results after the load, s", json_schema_extra={"harder": None}
    )
    quiet_s: Annotated[float, Field(ge=0.5, le=3600)] = Field(
        default=QUIET_S,
        description="minimum silence that ends the wait for results, s",
        json_schema_extra={"harder": None},
    )
    shape: ShapeName = Field(default="constant", description="how the rate changes over the run")
    arrivals: Arrivals = Field(default="even", description="evenly spaced, or random (a Poisson process)")
    steps_per_s: list[Rate] = Field(
        default=[], description="for shape steps: rates of equal parts of the measured interval"
    )
    to_per_s: Annotated[int, Field(ge=0, le=RATE_MAX)] = Field(
        default=0,
        description="for shape ramp: final rate; for shape fluctuating: low rate",
        json_schema_extra={"harder": None},
    )
    burst_records: Annotated[int, Field(ge=0, le=10**9)] = Field(
        default=0, description="for bursts: records per burst", json_schema_extra={"harder": None}
    )
    burst_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0, description="for bursts: duration of a burst, s", json_schema_extra={"harder": None}
    )
    burst_every_s: Annotated[float, Field(ge=0, le=WEEK_S)] = Field(
        default=0.0,
        description="for shape periodic-burst: time between the starts of two bursts, s",
        json_schema_extra={"harder": None},
    )
    rising_warmup: bool = Field(
        default=False, description="let the rate rise from 0 during the warm-up, so that a cold engine can keep up"
    )
    generators: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="number of load workers", json_schema_extra={"harder": None}
    )
    slice_s: Annotated[int, Field(ge=0, le=3600)] = Field(
        default=0,
        description="evaluate slices of this many seconds during the run and drop their records; 0 = evaluate it whole",
        json_schema_extra={"harder": None},
    )
    sustained: Literal["slope", "ospbench", "sustainable", "scalability", "none"] = Field(
        description="rule that decides whether the rate was sustained"
    )
    seed: Annotated[int, Field(ge=0)] = Field(
        description="seed of the data and of all random choices", json_schema_extra={"harder": None}
    )
    transport: str = Field(
        default=TRANSPORT, description="what carries records and results, by name", json_schema_extra={"harder": None}
    )
    queue_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=QUEUE_BOUND_S,
        description="for a transport with a bound: seconds of load that may wait; more ends the run as not sustained",
        json_schema_extra={"harder": None},
    )
    broker_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        description="port of the embedded server; 0 = any free port", json_schema_extra={"harder": None}
    )

    @model_validator(mode="after")
    def _shape_has_its_values(self, info: ValidationInfo) -> Self:
        """Each shape needs some values and would silently ignore the others. The context has what the user set."""
        set_ = {key for key in SHAPE_VALUES if getattr(self, key)}
        needed = SHAPE_NEEDS.get(self.shape, set())
        if self.shape == "preloaded":
            set_ |= {key for key in ("rate_per_s", "warmup_s", "measured_s") if getattr(self, key)}
        elif self.rate_per_s < 1 or self.measured_s < 1:
            got = f"got {self.rate_per_s}/s and {self.measured_s:g}s"
            raise ValueError(f"shape {self.shape} needs a --rate of at least 1/s and --for of at least 1s; {got}")
        if needed - set_:
            missing = " ".join(f"--set {key}=…" for key in sorted(needed - set_))
            raise ValueError(f"shape {self.shape} needs {missing}")
        if unused := sorted(set_ - needed):
            raise ValueError(unused_values(self.shape, unused, info.context or ()))
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


def profile_values(name: str, profile: str) -> dict[str, Any]:
    """The values of a scenario in a profile, including defaults."""
    file = describe(name)
    if profile not in PROFILES:
        raise unknown_choice(f"--profile {profile}", profile, PROFILES)
    chosen: Profile = getattr(file, profile)
    return {**_defaults(Values), **(file.common.model_extra or {}), **(chosen.model_extra or {})}


def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    return {key: field.default for key, field in model.model_fields.items() if not field.is_required()}


def parameter_fields(name: str) -> dict[str, FieldInfo]:
    """Every parameter of the scenario's workloads."""
    workloads = (registry.workload(workload) for workload in describe(name).workloads.values())
    return {key: field for workload in workloads for key, field in workload.parameters.model_fields.items()}


def setting_names(name: str) -> set[str]:
    """Everything that can be set for the scenario with any engine: values, parameters and the choice of workload."""
    return {*Values.model_fields, *parameter_fields(name), describe(name).choice}


def _choices_with(file: ScenarioFile, parameter: str) -> list[str]:
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
    typed: Mapping[str, str] | None = None,
) -> Scenario:
    """The scenario with the profile's values and the user's changes. Raises UsageError with every problem.

    Messages name the options of ``typed`` for changes that were not made with ``--set``. A ``script`` replaces the
    workload, so the engine need not support the workload.
    """
    file = describe(name)
    values = profile_values(name, profile)
    of_profile: Profile = getattr(file, profile)
    given = dict(changes or {}) if engine is None else {**(changes or {}), "engine": engine}
    typed = {**({} if engine is None else {"engine": f"--engine {engine}"}), **(typed or {})}
    all_parameters = parameter_fields(name)

    def named(key: str) -> str:
        return typed_option(key, typed, given, values)

    values |= {key: parse_text(given[key]) for key in ("engine", file.choice) if key in given}
    chosen = str(values.pop(file.choice, ""))
    if chosen not in file.workloads:
        raise unknown_choice(named(file.choice), chosen, file.workloads)
    workload = registry.workload(file.workloads[chosen])
    own_parameters = workload.parameters.model_fields
    for key in given:
        if key in all_parameters and key not in own_parameters:
            having = _choices_with(file, key)
            raise UsageError(
                f"{named(key)} does not apply to {file.choice} {chosen}",
                expected=f"{file.choice} {', '.join(having)}",
                hint=f"--set {file.choice}={having[0]}, or leave {key} out",
            )
    if values.get("engine") not in registry.names("engines"):
        raise unknown_choice(named("engine"), str(values.get("engine")), registry.names("engines"), "streamgauge list")
    system = registry.engine(str(values["engine"]))
    fields = {**Values.model_fields, **own_parameters, **system.options.model_fields}
    read = {key: values_of.read(text, key, fields.get(key)) for key, text in given.items() if key != file.choice}
    of_scenario = {*Values.model_fields, *all_parameters}
    values |= {key: value for key, value in read.items() if key in of_scenario}
    given_options = {key: value for key, value in read.items() if key not in of_scenario}
    defaults = {**file.common.engines.get(system.name, {}), **of_profile.engines.get(system.name, {})}
    if script is None:
        facts = {**_defaults(system.options), **defaults, **given_options, file.choice: chosen}
        for profile_of_file in (file.common, of_profile):
            defaults |= _options_of_cases(profile_of_file.cases.get(system.name, ()), facts, f"{name}.toml")
    options = {**defaults, **given_options}
    known = {file.choice, *fields}
    problems: list[str] = []

    def validated(model: type[Model], content: Mapping[str, Any]) -> Model | None:
        def unknown(key: str) -> str:
            if key in choices():
                return f"unknown setting: {named(key)}; did you mean {file.choice!r}?"
            return unknown_setting(named(key), key, system.name, known)

        try:
            return model.model_validate(content, context=given)
        except ValidationError as problem:
            problems.extend(describe_problems(problem, fields, named, unknown))
            return None

    checked = validated(Values, {key: value for key, value in values.items() if key not in all_parameters})
    parameter_model = validated(workload.parameters, {key: values[key] for key in own_parameters if key in values})
    option_model = validated(system.options, options)
    if checked is None or parameter_model is None or option_model is None:
        of_both = not {*given} <= known
        about = [name] if checked is None or parameter_model is None or of_both else []
        about += [system.name] if option_model is None else []
        raise all_problems(problems, hint=" and ".join(f"streamgauge list {one}" for one in about))
    parameters, options = parameter_model.model_dump(), option_model.model_dump(exclude_none=False)
    workload = workload.bound(parameters)
    study, _, scenario = name.partition("/")
    in_load = registry.transport(checked.transport).in_load
    if script is not None and in_load:
        raise UsageError(
            f"a script does not run on transport {checked.transport}",
            got=script.path,
            hint=USE_TRANSPORT,
        )
    if script is None:
        _refuse_unsupported(system, workload.name, options, checked.transport)
    elif not workload.outputs:
        raise UsageError(f"workload {workload.name} has no output for the results of a script", got=script.path)
    elif not system.traits.takes_script:
        raise UsageError(
            f"engine {system.name} does not support scripts: --script {script.path}", hint="--engine spark"
        )
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
        slice_s=checked.slice_s,
        sustained=None if checked.sustained == "none" else checked.sustained,
        seed=checked.seed,
        transport=checked.transport,
        queue_s=checked.queue_s,
        broker_port=checked.broker_port,
        generators=checked.generators,
        slo=tuple(slo),
        parameters=parameters,
        scaled=_scaled({**dict(checked), **parameters}, profile_values(name, "paper")) if file.published else {},
        script=script,
    )


def _options_of_cases(cases: Iterable[Case], facts: Mapping[str, Any], where: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for case in cases:
        if unknown := case.when.keys() - facts.keys():
            raise UsageError(
                "the scenario file has a case of an unknown option", where=where, got=", ".join(sorted(unknown))
            )
        if case.applies(facts):
            options |= case.options
    return options


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
        tail_s += len(workload.inputs) / _final_rate_per_s(checked)
    return max(tail_s, script.settles_s if script else 0.0) + 2 * batch_interval_s


def _final_rate_per_s(checked: Values) -> int:
    """The rate of the tail."""
    if checked.shape == "steps":
        return checked.steps_per_s[-1]
    return checked.to_per_s if checked.shape == "ramp" else checked.rate_per_s


def _refuse_unsupported(system: Engine, workload: str, options: Mapping[str, Any], transport: str) -> None:
    """Raises Unsupported with the engine's reason."""
    if transport not in system.traits.transports:
        raise Unsupported(
            f"engine {system.name} does not run on transport {transport}",
            got=f"it reads and writes {', '.join(sorted(system.traits.transports))}",
            expected=f"another engine, or --set transport={min(system.traits.transports)}",
        )
    if options.get("delivery") == "exactly-once" and not registry.transport(transport).transactional:
        raise Unsupported(
            f"delivery=exactly-once does not work on transport {transport}",
            got="results cannot be written in transactions",
            expected="--set delivery=at-least-once",
        )
    if workload not in system.traits.workloads:
        running = engines_that_run(workload)
        raise Unsupported(
            f"engine {system.name} does not run {workload}",
            got=system.traits.gaps.get(workload, "it has no program for this workload"),
            expected=f"an engine that runs it: {', '.join(running)}" if running else None,
            hint=f"--engine {running[0]}" if running else f"streamgauge list {system.name}",
        )
    for limit in system.traits.limits:
        if limit.applies(workload, options):
            settings = " ".join(f"--set {key}={values_of.as_typed(value)}" for key, value in limit.options.items())
            raise Unsupported(
                f"engine {system.name} does not run {workload} with {settings}",
                got=limit.reason,
                expected=f"other values of {', '.join(limit.options)}, or another engine",
                hint=f"streamgauge list {system.name}",
            )


def engines_that_run(workload: str) -> list[str]:
    """Without those that run only the user's own program."""
    engines = (registry.engine(name) for name in registry.names("engines"))
    return [one.name for one in engines if workload in one.traits.workloads and not one.traits.needs_program]


def _scaled(here: Mapping[str, Any], paper: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values that differ from the paper, except those that are free to choose."""
    free = {"engine", "seed", "broker_port", "generators"}
    return {
        key: (value, paper[key])
        for key, value in here.items()
        if key not in free and key in paper and value != paper[key]
    }
