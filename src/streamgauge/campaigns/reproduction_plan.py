"""What a reproduction is to run: every experiment of a study on each engine, before anything is started."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.reproduction_estimate import run_s, search_s
from streamgauge.campaigns.reproduction_pace import UNKNOWN, Pace
from streamgauge.errors import Unsupported, UsageError, nearest, one_of
from streamgauge.identity import Ignored
from streamgauge.machine.description import usable_cores
from streamgauge.measure import slices
from streamgauge.measure.faults import check_supported
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.plan import Request
from streamgauge.model import LoadPlan, Scenario
from streamgauge.model.campaign import ExperimentRow
from streamgauge.notices import NOTHING, Notice, notice
from streamgauge.redaction import redact_options
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.problems import typed_option
from streamgauge.study import RESOLUTION, Experiment, Purpose, Study

MAY_DIFFER: Ignored = {
    "out": "a reproduction may be moved",
    "engines": "engines may be added",
    "only": "experiments may be added",
    "retry": "further attempts change no setting",
    "typed": "one value can be typed in several ways",
}
"""What need not be the same to resume a reproduction."""


@dataclass(frozen=True)
class ReproductionRequest:
    """What the user asked for."""

    study: str
    out: Path
    engines: tuple[str, ...] = ("spark",)
    profile: str = "laptop"
    changes: Mapping[str, str] = field(default_factory=dict)
    """Values of every scenario and engine that are set in place of the profile's."""
    only: tuple[str, ...] = ()
    """Names of experiments, or patterns such as ``latency-*``; empty: all."""
    bootstrap: str | None = None
    runs: int | None = None
    """Of each experiment; None: as many as the study made in this profile."""
    retry: bool = False
    """Whether experiments that stayed INVALID are tried again."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """The options of ``changes`` as the user typed them, by key; ``--set`` where there is none."""

    def described(self) -> Study:
        return registry.study_description(self.study)

    def settings(self) -> dict[str, Any]:
        """Everything that must be the same for a reproduction to be resumed."""
        several = self.runs_of("run")
        runs = {"runs": several} if several > 1 else {}
        named = {name: value for name, value in vars(self).items() if name not in (*MAY_DIFFER, "changes", "runs")}
        return {**named, **runs, **redact_options(self.changes)}

    def runs_of(self, purpose: Purpose) -> int:
        """A search is made once: it confirms its answer with a run in fresh processes."""
        if purpose == "capacity":
            return 1
        return self.runs or self.described().runs.get(self.profile, 1)


@dataclass(frozen=True)
class PlannedExperiment:
    """One experiment on one engine."""

    experiment: Experiment
    engine: str
    settings: Mapping[str, str]
    """Of the experiment, in this profile."""
    chosen: bool
    request: Request | None
    """Without its directory; None: the engine does not run it."""
    reason: Notice = NOTHING
    """Why the engine does not run it."""
    runs: int = 1
    resolution: float = RESOLUTION
    """Of a search."""
    most: int | None = None
    """The highest rate that a search tries."""

    @property
    def name(self) -> str:
        return f"{self.experiment.name}-{self.engine}"

    def search_in(self, directory: Path) -> CapacitySearch:
        """Of one that the engine runs. It begins where another experiment ended, if that is known."""
        assert self.request is not None
        axis = self.experiment.axis
        begin = self.settings.get(axis.name)
        return CapacitySearch(
            replace(self.request, out=directory),
            self.resolution,
            axis,
            guess=None if begin is None else int(begin),
            most=self.most,
        )

    @property
    def is_confirming(self) -> bool:
        """Whether the confirming run of a search is all that it needs."""
        return self.experiment.confirming and self.runs == 1

    @property
    def estimate_s(self) -> float:
        """About how long all its runs take on two cores; 0 where the engine does not run it."""
        if self.request is None or self.is_confirming:
            return 0.0
        scenario = self.request.scenario
        if self.experiment.purpose == "capacity":
            return search_s(scenario, self.resolution, begins_beside=bool(self.experiment.rate_of))
        return self.runs * run_s(scenario)

    def row(self) -> ExperimentRow:
        one = self.experiment
        return ExperimentRow(
            name=one.name,
            scenario=one.scenario,
            dimensions=dict(one.dimensions),
            settings=dict(self.settings),
            faults=list(one.faults),
            purpose=one.purpose,
            engine=self.engine,
            runs=self.runs,
            state="not run" if self.request is None else "pending",
            reason=self.reason,
            attempts=[],
            verdict=None,
            directory=None,
            summary=None,
            capacity=None,
        )


def plan(campaign: ReproductionRequest) -> list[PlannedExperiment]:
    """Every experiment of the study on each engine, those that were not chosen included. Starts nothing.

    Raises UsageError for anything that cannot be meant.
    """
    if fixed := campaign.described().sets & set(campaign.changes):
        options = ", ".join(typed_option(key, campaign.typed, campaign.changes, {}) for key in sorted(fixed))
        raise UsageError(
            f"{options} cannot be used: the study itself sets {', '.join(sorted(fixed))}",
            expected="values that the study leaves open",
            hint=f"streamgauge run {_scenario_with(campaign, fixed)}, which takes any value",
        )
    experiments = campaign.described().experiments
    if not experiments:
        complete = [name for name in registry.names("studies") if registry.study(name).STUDY.experiments]
        raise UsageError(
            f"{campaign.study} has no tables or figures to reproduce yet",
            expected=one_of(complete),
            hint=f"streamgauge list {campaign.study} to see its scenarios, which can be run one by one",
        )
    names = [experiment.name for experiment in experiments]
    for pattern in campaign.only:
        if not any(fnmatchcase(name, pattern) for name in names):
            parts = [name for name in names if pattern in name]
            several = f"{pattern}-*" if all(name.startswith(f"{pattern}-") for name in parts) else f"*{pattern}*"
            meant = [several] if len(parts) > 1 else parts or nearest(pattern, names)
            near = f"; did you mean {meant[0]!r}?" if meant else ""
            raise UsageError(
                f"unknown experiment: {pattern!r}{near}",
                hint=f"streamgauge reproduce {campaign.study} --dry-run to list all {len(names)}",
            )
    engines = dict.fromkeys(campaign.engines)
    needed: set[str] = set()
    for one in reversed(experiments):  # what one needs comes before it
        if is_chosen(one.name, campaign.only) or one.name in needed:
            needed |= {one.name, *one.after}
    return [
        plan_experiment(campaign, experiment, engine, experiment.name in needed)
        for experiment in experiments
        for engine in engines
    ]


def _scenario_with(campaign: ReproductionRequest, keys: Collection[str]) -> str:
    """That of the first experiment that sets one of these itself, else of the first."""
    experiments = campaign.described().experiments
    return next((one for one in experiments if not {*keys}.isdisjoint(one.sets)), experiments[0]).scenario


def _check_settings(scenario: Scenario, given: frozenset[str]) -> None:
    """Refuse now what the run itself would refuse, perhaps hours later. Raises UsageError."""
    if scenario.slice_s:
        slices.check(scenario)
    if given & scenario.parameters.keys():
        _check_data(scenario.workload, json.dumps(scenario.parameters, sort_keys=True), scenario.seed, scenario.load)


@cache
def _check_data(workload: str, parameters: str, seed: int, load: LoadPlan) -> None:
    """Of many experiments with the same data, the file is read once."""
    registry.dataset(workload, json.loads(parameters), seed, load)


def is_chosen(name: str, only: Sequence[str]) -> bool:
    """Whether these names and patterns, if any, include the experiment."""
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def plan_experiment(
    campaign: ReproductionRequest, experiment: Experiment, engine: str, chosen: bool, pace: Pace = UNKNOWN
) -> PlannedExperiment:
    """One experiment on one engine, with what others found for it."""
    system = registry.engine(engine)
    if system.traits.needs_program:
        raise UsageError(
            f"--engine {engine} cannot reproduce a study: it needs a program from the command line",
            hint=f"streamgauge run {experiment.scenario} --engine {engine} -- PROGRAM",
        )
    engines, experiment = experiment.engines, pace.set_in(experiment.on(engine))
    settings = experiment.settings_in(campaign.profile)
    if engine in experiment.gaps:
        why = notice("engine-gap", engine=engine, why=experiment.gaps[engine])
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    if engines and engine not in engines:
        why = notice("engine-not-in-study", engine=engine, engines=", ".join(engines))
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    known = {*scenarios.setting_names(experiment.scenario), *system.options.model_fields}
    if lacking := [key for key in experiment.needs if key not in known]:
        why = notice("engine-lacks-option", engine=engine, options=", ".join(lacking))
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    # Where a search begins is no value of its scenario: what follows from the searched value would not follow there.
    begin = experiment.axis.name if experiment.purpose == "capacity" else None
    changes = {**campaign.changes, **{name: value for name, value in settings.items() if name != begin}}
    try:
        scenario = scenarios.resolve(
            experiment.scenario, profile=campaign.profile, changes=changes, engine=engine, typed=campaign.typed
        )
        if campaign.bootstrap is not None:
            registry.transport(scenario.transport).check_address(campaign.bootstrap)
        timed = not experiment.half_time_of or pace.moment_s is not None
        faults = tuple(parse_fault(fault if timed else f"{fault} at 0s") for fault in experiment.faults)
        check_supported(replace(scenario, faults=faults))
        if chosen:
            _check_settings(scenario, frozenset(campaign.changes))
        scenario = replace(scenario, faults=faults if timed else ())
    except Unsupported as problem:
        why = notice("engine-refuses", what=problem.what, why=problem.got)
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    except UsageError as problem:
        if chosen:
            raise problem.about(f"experiment {experiment.name}") from None
        why = notice("settings-refused", what=problem.what)
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    if experiment.cores > (cores := usable_cores()):
        why = notice("too-few-cores", cores=cores)
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    request = Request(scenario, campaign.out, transport_address=campaign.bootstrap)
    resolution = campaign.described().resolution.get(campaign.profile, RESOLUTION)
    runs = campaign.runs_of(experiment.purpose)
    most = experiment.most_per_s.get(campaign.profile)
    planned = PlannedExperiment(
        experiment, engine, settings, chosen, request, runs=runs, resolution=resolution, most=most
    )
    if experiment.purpose == "capacity":
        planned.search_in(campaign.out)
    return planned
