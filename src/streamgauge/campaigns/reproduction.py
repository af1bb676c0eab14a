"""A published study, run as its authors ran it: one experiment after another, each a run or a capacity search.

``OUT/runs/EXPERIMENT-ENGINE`` are their directories, or ``…/1``, ``…/2`` where a profile makes several runs (``…-2``
where an INVALID one was repeated). ``reproduction.json`` and ``report.html`` are rewritten after every run
(docs/howto/reproduce.md): a reproduction can be read before it is finished, and resumed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from streamgauge import registry, report
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.repetition import median_run, summarize
from streamgauge.campaigns.reproduction_estimate import run_s, search_s
from streamgauge.campaigns.reproduction_file import ReproductionFile
from streamgauge.campaigns.reproduction_pace import UNKNOWN, Pace, find_pace
from streamgauge.campaigns.reproduction_runner import AttemptResult, LocalRunner
from streamgauge.errors import EXIT_OK, EngineFailed, InvalidMeasurement, Unsupported, UsageError
from streamgauge.identity import Ignored
from streamgauge.machine.description import usable_cores
from streamgauge.model import Verdict
from streamgauge.model.campaign import Attempt, ExperimentRow, Reproduction
from streamgauge.model.summary import Summary
from streamgauge.notices import NOTHING, Notice, joined, notice
from streamgauge.processes import directory_lock
from streamgauge.redaction import redact_options
from streamgauge.run.faults import check_supported
from streamgauge.run.faults import parse as parse_fault
from streamgauge.run.plan import Request
from streamgauge.run.reporter import Reporter
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.parsing import typed_setting
from streamgauge.study import RESOLUTION, Experiment, Purpose, Study

ATTEMPTS = 2
"""An INVALID run or search is repeated once."""
MAY_DIFFER: Ignored = {
    "out": "a reproduction may be moved",
    "engines": "engines may be added",
    "only": "experiments may be added",
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

    @property
    def name(self) -> str:
        return f"{self.experiment.name}-{self.engine}"

    def search_in(self, directory: Path) -> CapacitySearch:
        """Of one that the engine runs. It begins where another experiment ended, if that is known."""
        assert self.request is not None
        drains = self.experiment.axis.name not in self.settings
        return CapacitySearch(
            replace(self.request, out=directory), self.resolution, self.experiment.axis, drains=drains
        )

    @property
    def estimate_s(self) -> float:
        """About how long all its runs take on two cores; 0 where the engine does not run it."""
        if self.request is None:
            return 0.0
        scenario = self.request.scenario
        return search_s(scenario) if self.experiment.purpose == "capacity" else self.runs * run_s(scenario)

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


class CampaignReporter(Reporter, Protocol):
    """Shows the progress of a campaign."""

    def begin(self, title: str) -> None: ...

    def end(self, row: ExperimentRow) -> None: ...


class ExperimentRunner(Protocol):
    """Carries out an experiment."""

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult: ...


def plan(campaign: ReproductionRequest) -> list[PlannedExperiment]:
    """Every experiment of the study on each engine, those that were not chosen included. Starts nothing.

    Raises UsageError for anything that cannot be meant.
    """
    if fixed := campaign.described().sets & set(campaign.changes):
        options = ", ".join(typed_setting(key, campaign.changes[key]) for key in sorted(fixed))
        raise UsageError(
            f"{options} cannot be used: the study itself sets {', '.join(sorted(fixed))}",
            expected="values that the study leaves open",
            hint=f"streamgauge run {campaign.study}/… takes any value",
        )
    experiments = campaign.described().experiments
    if not experiments:
        complete = [name for name in registry.names("studies") if registry.study(name).STUDY.experiments]
        raise UsageError(
            f"{campaign.study} has no tables or figures to reproduce yet",
            expected=f"one of {', '.join(complete)}",
            hint=f"streamgauge run {campaign.study}/…: its scenarios can be run one by one; see streamgauge list",
        )
    names = [experiment.name for experiment in experiments]
    for pattern in campaign.only:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = f"streamgauge reproduce {campaign.study} --dry-run"
            raise registry.unknown("experiment", pattern, names, hint=hint)
    engines = dict.fromkeys(campaign.engines)
    chosen = [one for one in experiments if is_chosen(one.name, campaign.only)]
    needed = {name for one in chosen for name in (one.name, *one.after)}
    return [
        _plan_experiment(campaign, experiment, engine, experiment.name in needed)
        for experiment in experiments
        for engine in engines
    ]


def is_chosen(name: str, only: Sequence[str]) -> bool:
    """Whether these names and patterns, if any, include the experiment."""
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _plan_experiment(
    campaign: ReproductionRequest, experiment: Experiment, engine: str, chosen: bool, pace: Pace = UNKNOWN
) -> PlannedExperiment:
    system = registry.engine(engine)
    if system.traits.needs_program:
        raise UsageError(
            f"--engine {engine} cannot reproduce a study: it needs a program from the command line",
            hint=f"streamgauge run {campaign.study}/… --engine {engine} -- PROGRAM",
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
    changes = {**campaign.changes, **settings}
    try:
        scenario = scenarios.resolve(experiment.scenario, profile=campaign.profile, changes=changes, engine=engine)
        timed = not experiment.half_time_of or pace.moment_s is not None
        faults = tuple(parse_fault(fault if timed else f"{fault} at 0s") for fault in experiment.faults)
        check_supported(replace(scenario, faults=faults))
        scenario = replace(scenario, faults=faults if timed else ())
    except Unsupported as problem:
        why = notice("engine-refuses", what=problem.what, why=problem.got)
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    if experiment.cores > (cores := usable_cores()):
        why = notice("too-few-cores", cores=cores)
        return PlannedExperiment(experiment, engine, settings, chosen, None, why)
    request = Request(scenario, campaign.out, transport_address=campaign.bootstrap)
    resolution = campaign.described().resolution.get(campaign.profile, RESOLUTION)
    runs = campaign.runs_of(experiment.purpose)
    planned = PlannedExperiment(experiment, engine, settings, chosen, request, runs=runs, resolution=resolution)
    if experiment.purpose == "capacity":
        planned.search_in(campaign.out)
    return planned


def reproduce(
    campaign: ReproductionRequest, reporter: CampaignReporter, runner: ExperimentRunner | None = None
) -> Reproduction:
    """Run what is chosen and not done yet; returns the content of ``reproduction.json``.

    Raises UsageError when ``campaign.out`` holds anything else than this reproduction or another command is using it,
    and whatever stops a single run other than its system under test. The results until then stay: pass the same
    request to resume.
    """
    with directory_lock.hold(campaign.out):
        return _reproduce(campaign, reporter, runner)


def _reproduce(
    campaign: ReproductionRequest, reporter: CampaignReporter, runner: ExperimentRunner | None
) -> Reproduction:
    plans = plan(campaign)
    file = ReproductionFile.open(campaign.out, campaign.study, campaign.described(), campaign.settings())
    runnable = [planned for planned in plans if planned.chosen and planned.request is not None]
    with ExitStack() as stack:
        doing = runner or stack.enter_context(LocalRunner(campaign.out, runnable, reporter))
        file.lay_out([planned.row() for planned in plans])
        _save(file, campaign)
        for number, named in enumerate(runnable, start=1):
            row = file.row(named.experiment.name, named.engine)
            planned = named
            if named.experiment.after and row.state == "pending":
                planned, row = _paced(campaign, named, row, file)
                _save(file, campaign)
            title = f"{number} of {len(runnable)}: {planned.experiment.name} on {planned.engine}"
            while row.state == "pending":
                reporter.begin(title + _turn(planned, row))
                row = _attempt(planned, row, file, campaign.out, reporter, doing)
                _save(file, campaign)
            reporter.end(row)
    return file.content


def _paced(
    campaign: ReproductionRequest, planned: PlannedExperiment, row: ExperimentRow, file: ReproductionFile
) -> tuple[PlannedExperiment, ExperimentRow]:
    """With the rate and the moment that follow from other experiments; *not run* where one of them has none."""
    experiment = planned.experiment
    pace = find_pace(experiment, campaign.profile, lambda name: file.row(name, planned.engine))
    if isinstance(pace, Notice) and experiment.purpose == "capacity":
        return planned, row  # it begins anywhere
    if isinstance(pace, Notice):
        row = row.with_changes(state="not run", reason=pace)
    else:
        planned = _plan_experiment(campaign, experiment, planned.engine, planned.chosen, pace)
        row = row.with_changes(settings=dict(planned.settings), faults=list(planned.experiment.faults))
    file.settle(row, 0.0)
    return planned, row


def done_before(campaign: ReproductionRequest) -> dict[str, str]:
    """Steps that need not be run any more, by name, each with its verdict. Raises UsageError as ``reproduce`` does."""
    file = ReproductionFile.open(campaign.out, campaign.study, campaign.described(), campaign.settings())
    return {f"{row.name}-{row.engine}": str(row.verdict) for row in file.rows if row.state == "done"}


def _turn(planned: PlannedExperiment, row: ExperimentRow) -> str:
    """Which of its runs comes next, and whether again."""
    run = _next_run(row)
    turn = f", run {run} of {planned.runs}" if planned.runs > 1 else ""
    again = any(attempt.run == run for attempt in row.attempts)
    return turn + (" (again, since it was INVALID)" if again else "")


def _next_run(row: ExperimentRow) -> int:
    """The number of the run that comes next: the last one again while it is INVALID and may be repeated."""
    if not row.attempts:
        return 1
    last = row.attempts[-1]
    tried = sum(attempt.run == last.run for attempt in row.attempts)
    again = last.verdict == "INVALID" and tried < ATTEMPTS
    return last.run + (0 if again else 1)


def _attempt(
    planned: PlannedExperiment,
    row: ExperimentRow,
    file: ReproductionFile,
    out: Path,
    reporter: Reporter,
    runner: ExperimentRunner,
) -> ExperimentRow:
    """The row with this attempt in it."""
    began = time.monotonic()
    run = _next_run(row)
    directory = _directory(planned, row, out, run)
    result = runner.carry_out(planned, directory, reporter)
    name = str(directory.relative_to(out))
    row = row.with_changes(attempts=[*row.attempts, _described(result, run, name)])
    median, summary = _together(row, out) or (name, result.summary)
    following = _next_run(row)
    row = row.with_changes(
        state="done" if following > planned.runs else "pending",
        verdict=summary.verdict if summary else result.verdict.value,
        directory=median,
        summary=summary,
        capacity=result.capacity,
    )
    file.settle(row, time.monotonic() - began)
    if following == run:
        reporter.warn(notice("invalid-repeated", run=name, reasons=joined(result.reasons)))
    return row


def _described(result: AttemptResult, run: int, directory: str) -> Attempt:
    """Whether it counts or not: with percentiles of each latency, output, the bracket of a search."""
    summary = result.summary
    kinds = {} if summary is None else {kind: summary.latency(kind) for kind in summary.latency_ms}
    return Attempt(
        run=run,
        directory=directory,
        verdict=result.verdict.value,
        reasons=list(result.reasons),
        p50_ms={kind: values.get("p50") for kind, values in kinds.items()},
        p99_ms={kind: values.get("p99") for kind, values in kinds.items()},
        rate_output=None if summary is None else summary.rate_per_s.output,
        interval=None if result.capacity is None else result.capacity.interval,
    )


def _together(row: ExperimentRow, out: Path) -> tuple[str, Summary] | None:
    """The directory of the median run, and its summary with the values of all; None while there is one run only."""
    counted = {attempt.run: attempt.directory for attempt in row.attempts}
    if len(counted) == 1:
        return None
    directories = {Path(directory).name: directory for directory in counted.values()}
    summaries = {name: RunDir(out / directory).summary() for name, directory in directories.items()}
    discarded = {
        Path(counted[attempt.run]).name: {Path(attempt.directory).name: RunDir(out / attempt.directory).summary()}
        for attempt in row.attempts
        if attempt.directory not in counted.values()
    }
    median = median_run(summaries)
    return directories[median], summarize(summaries, median, discarded)


def _directory(planned: PlannedExperiment, row: ExperimentRow, out: Path, run: int) -> Path:
    """Where the next attempt goes. A run that was cut off is left where it is; a search is resumed."""
    judged = {attempt.directory for attempt in row.attempts}
    first = out / "runs" / planned.name
    if planned.runs > 1:
        first = first / str(run)
    number, path = 1, first
    while str(path.relative_to(out)) in judged or (path.exists() and planned.experiment.purpose == "run"):
        number += 1
        path = first.with_name(f"{first.name}-{number}")
    return path


def _save(file: ReproductionFile, campaign: ReproductionRequest) -> None:
    file.write()
    report.write_study(campaign.out, campaign.described())


def exit_code(content: Reproduction) -> int:
    """What the command that made this file ends with. Overload is a finding."""
    verdicts = {row.verdict for row in content.experiments if row.state == "done"}
    if Verdict.INVALID.value in verdicts:
        return InvalidMeasurement.exit_code
    return EngineFailed.exit_code if Verdict.FAILED.value in verdicts else EXIT_OK
