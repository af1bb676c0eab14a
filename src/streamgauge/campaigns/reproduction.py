"""A published study, run as its authors ran it: one experiment after another, each a run or a capacity search.

``OUT/runs/EXPERIMENT-ENGINE`` are their directories, or ``…/1``, ``…/2`` where a profile makes several runs (``…-2``
where an INVALID one was repeated). ``reproduction.json`` and ``report.html`` are rewritten after every run
(docs/howto/reproduce.md): a reproduction can be read before it is finished, and resumed.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from streamgauge import report
from streamgauge.campaigns.repetition import median_run, summarize
from streamgauge.campaigns.reproduction_estimate import Progress
from streamgauge.campaigns.reproduction_file import ReproductionFile
from streamgauge.campaigns.reproduction_pace import find_pace
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan, plan_experiment
from streamgauge.campaigns.reproduction_runner import AttemptResult, LocalRunner
from streamgauge.errors import EXIT_OK, EngineFailed, InvalidMeasurement, UsageError
from streamgauge.measure.reporter import Reporter
from streamgauge.model import Verdict
from streamgauge.model.campaign import REPRODUCTION_NAME, TRIES, Attempt, ExperimentRow, Reproduction
from streamgauge.model.summary import Summary
from streamgauge.notices import Notice, joined, notice
from streamgauge.processes import directory_lock
from streamgauge.rundir import RunDir


class CampaignReporter(Reporter, Protocol):
    """Shows the progress of a campaign."""

    def begin(self, title: str, left_s: float) -> None:
        """Of an experiment; it and those after it take about ``left_s``."""

    def end(self, row: ExperimentRow) -> None: ...


class ExperimentRunner(Protocol):
    """Carries out an experiment."""

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult: ...


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
    file = _open(campaign)
    runnable = [planned for planned in plans if planned.chosen and planned.request is not None]
    with ExitStack() as stack:
        doing = runner or stack.enter_context(LocalRunner(campaign.out, runnable, reporter))
        file.lay_out([planned.row() for planned in plans])
        if campaign.retry:
            _retry(file, runnable)
        _save(file, campaign)
        progress = Progress()
        for number, named in enumerate(runnable, start=1):
            row = file.row(named.experiment.name, named.engine)
            planned = named
            if named.experiment.after and row.state == "pending":
                planned, row = _paced(campaign, named, row, file)
                _save(file, campaign)
            title = f"{number} of {len(runnable)}: {planned.experiment.name} on {planned.engine}"
            while row.state == "pending":
                left_s = sum(_left_s(one, file) for one in runnable[number - 1 :])
                reporter.begin(title + _turn(planned, row), progress.corrected_s(left_s))
                before_s = file.content.seconds
                row = _attempt(planned, row, file, campaign.out, reporter, doing)
                progress.add(planned.estimate_s / planned.runs, file.content.seconds - before_s)
                _save(file, campaign)
            reporter.end(row)
    return file.content


def _open(campaign: ReproductionRequest) -> ReproductionFile:
    file = ReproductionFile.open(campaign.out, campaign.study, campaign.described(), campaign.settings())
    if campaign.retry and not file.rows:
        raise UsageError(
            "--retry needs the --out of an earlier reproduction",
            where=campaign.out,
            got=f"no {REPRODUCTION_NAME}",
            hint=f"streamgauge reproduce {campaign.study} without --retry begins a new one",
        )
    return file


def _retry(file: ReproductionFile, chosen: Sequence[PlannedExperiment]) -> None:
    """Allow for further attempts at what stayed INVALID. Those before are kept."""
    for planned in chosen:
        row = file.row(planned.experiment.name, planned.engine)
        if _stayed_invalid(row):
            file.settle(row.with_changes(state="pending", tries=row.tries + TRIES), 0.0)


def _stayed_invalid(row: ExperimentRow) -> bool:
    return row.state == "done" and row.verdict == Verdict.INVALID.value


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
        planned = plan_experiment(campaign, experiment, planned.engine, planned.chosen, pace)
        row = row.with_changes(settings=dict(planned.settings), faults=list(planned.experiment.faults))
    file.settle(row, 0.0)
    return planned, row


def done_before(campaign: ReproductionRequest) -> dict[str, str]:
    """Steps that need not be run any more, by name, each with its verdict. Raises UsageError as ``reproduce`` does."""
    file = _open(campaign)
    done = [row for row in file.rows if row.state == "done" and not (campaign.retry and _stayed_invalid(row))]
    return {f"{row.name}-{row.engine}": str(row.verdict) for row in done}


def _left_s(planned: PlannedExperiment, file: ReproductionFile) -> float:
    """The estimate for the runs of an experiment that are still to be made."""
    row = file.row(planned.experiment.name, planned.engine)
    if row.state != "pending":
        return 0.0
    return planned.estimate_s * (planned.runs - _next_run(row) + 1) / planned.runs


def _turn(planned: PlannedExperiment, row: ExperimentRow) -> str:
    """Which of its runs comes next, and whether again."""
    run = _next_run(row)
    turn = f", run {run} of {planned.runs}" if planned.runs > 1 else ""
    again = any(attempt.run == run for attempt in row.attempts)
    return turn + (" (again, since it was INVALID)" if again else "")


def _next_run(row: ExperimentRow) -> int:
    """The number of the run that comes next: the first one that is INVALID and may be tried again, or a new one."""
    last = {attempt.run: attempt.verdict for attempt in row.attempts}
    tried = Counter(attempt.run for attempt in row.attempts)
    again = (run for run in sorted(last) if last[run] == Verdict.INVALID.value and tried[run] < row.tries)
    return next(again, len(last) + 1)


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
    directory = _confirming_run(planned, file, out)
    if directory is None:
        directory = _directory(planned, row, out, run)
        try:
            result = runner.carry_out(planned, directory, reporter)
        except UsageError as problem:
            raise problem.about(f"experiment {planned.experiment.name}") from None
    else:
        result = AttemptResult.of_run(RunDir(directory).summary())
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


def _confirming_run(planned: PlannedExperiment, file: ReproductionFile, out: Path) -> Path | None:
    """The run that this experiment is, where a search has made it already."""
    if not planned.is_confirming:
        return None
    search = file.row(planned.experiment.rate_of, planned.engine)
    if search.directory is None or search.capacity is None or not search.capacity.confirmed:
        return None
    return out / search.directory / search.capacity.probes[-1].directory


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
    discarded: dict[str, dict[str, Summary]] = defaultdict(dict)
    for attempt in row.attempts:
        if attempt.directory != counted[attempt.run]:
            earlier = Path(attempt.directory).name
            discarded[Path(counted[attempt.run]).name][earlier] = RunDir(out / attempt.directory).summary()
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
