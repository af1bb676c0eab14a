"""The capacity search: one probe after another, each an ordinary run, until the edge is known closely enough.

``OUT/probes/NN-VALUE`` are run directories, ``OUT/probes/00-drain`` is the run that gave the first guess,
``OUT/capacity.json`` is rewritten after every probe (docs/reference/capacity.md), so that an unfinished search can be
resumed.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from streamgauge import registry
from streamgauge.campaigns.capacity_file import CapacityFile, identifying_settings
from streamgauge.campaigns.probes import judge, lengths_s
from streamgauge.campaigns.referee import DrainReferee, ProbeReferee
from streamgauge.campaigns.resumable import here
from streamgauge.campaigns.search import Answer, Next, Probe, ProbeVerdict, Target, advance, four_digits
from streamgauge.errors import EXIT_MISSED, EXIT_OK, EngineFailed, InvalidMeasurement, UsageError
from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics.arrival import server_blamed
from streamgauge.evaluate.verdict import failures
from streamgauge.machine import description
from streamgauge.measure import preflight
from streamgauge.measure.evaluation import Evaluator, kept_evaluator
from streamgauge.measure.files_used import data_files, program_files
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import Reporter
from streamgauge.measure.results import is_one_to_one
from streamgauge.measure.runner import run_scenario
from streamgauge.model import Scenario, Verdict
from streamgauge.model.capacity import Capacity, CapacityProbe, CapacitySet
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
from streamgauge.processes import directory_lock
from streamgauge.redaction import redact_arguments
from streamgauge.rundir import RunDir
from streamgauge.search_axis import RATE_AXIS, SearchAxis
from streamgauge.studies.scenario import RATE_MAX
from streamgauge.studies.search_axis import limits_on, value_on, with_value

BACKLOG_S = 750
"""The backlog that is drained for the first guess, in seconds of the scenario's own rate."""
BACKLOG_LEAST, BACKLOG_MOST = 20_000, 3_000_000
"""The most is half a minute for a fast engine: a JVM that still compiles would be taken for a slow one."""
BACKLOG_PER_S = 200_000
"""How fast it is written, before the engine starts."""
DRAIN_BATCH = 50_000
"""Where a record has no result of its own, progress shows with the batches: one of all the backlog would show none."""
DRAIN_WATCHED_S = 30.0
DRAIN_GIVEN_UP_S = 60.0
"""Seconds without a result after which the scenario's own rate is the first guess."""
FRACTION_RANGE = 1000
"""How far from the first guess a value that may be a fraction is searched, as a factor, where it has no limits."""

Show = Callable[[CapacityProbe], None]


@dataclass(frozen=True)
class CapacitySearch:
    """Looks for the hardest value of the axis that is sustained: the highest rate, or the fewest cores."""

    request: Request
    resolution: float
    axis: SearchAxis = RATE_AXIS
    shift: float = 0.0
    """By how many resolutions the first guess is raised, below 1: see capacity_set.py."""
    guess: float | None = None
    """What another search found under similar conditions: probed first, and no backlog is drained."""
    least: float | None = None
    most: float | None = None
    """Beyond these values nothing is tried; None: as far as values go."""

    def __post_init__(self) -> None:
        """Raises UsageError for a search that cannot mean anything."""
        scenario = self.request.scenario
        if scenario.load.shape != "constant":
            raise UsageError("a capacity is searched with a constant load", got=f"shape {scenario.load.shape}")
        if scenario.sustained is None and not scenario.slo:
            raise UsageError(
                "no rule for a sustained rate", expected="a rule or an SLO", hint="--rule slope, or --slo …"
            )
        if self.least is not None and self.most is not None and self.least >= self.most:
            raise UsageError("--from must be below --to", got=f"--from {self.least:g} --to {self.most:g}")
        self.scenario_at(self.start)

    @property
    def start(self) -> float:
        """The scenario's own value of what is searched."""
        return value_on(self.axis, self.request.scenario)

    def target(self, guess: float) -> Target:
        """Where to search from a guess, which is moved into the bounds."""
        guess = self._within(guess)
        lowest, highest = (self._accepted(guess, bound) for bound in self._bounds(guess))
        return Target(
            guess,
            self.resolution,
            lowest,
            highest,
            self.axis.more_is_harder,
            whole=self.axis.whole,
            counted=not self.axis.is_rate,
            found_before=self.guess is not None,
            accepts=cache(self._accepts),
        )

    def check(self) -> None:
        """Raises UsageError or EnvironmentProblem where its first run would be refused. Writes nothing."""
        scenario, out = self.scenario_at(self._within(self.start)), _fresh(self.request.out / "probes" / "00-drain")
        preflight.check(replace(self.request, scenario=scenario, out=out))

    def _within(self, guess: float) -> float:
        return max(min(guess, self.most or guess), self.least or 0)

    def _bounds(self, guess: float) -> tuple[float, float]:
        """How far the search may go: as asked for, else as far as the value itself goes."""
        least, most = limits_on(self.axis, self.request.scenario)
        if self.axis.whole:
            memory_mb = description.memory_mb() if self.axis.is_memory else None
            highest = max(memory_mb or self.axis.most() or RATE_MAX, guess)
            return self.least or least or 1, self.most or min(most or highest, highest)
        return self.least or least or guess / FRACTION_RANGE, self.most or most or guess * FRACTION_RANGE

    def _accepts(self, value: float) -> bool:
        """Whether the value is valid, and does not ask for more processes than have input or more memory than there is.

        What the scenario itself asks for is not refused here: that is the same for every value of other axes.
        """
        try:
            scenario = self.scenario_at(value)
        except UsageError:
            return False
        engine = registry.engine(scenario.engine)
        options, own_options = scenario.engine_options, self.request.scenario.engine_options
        members, needed_mb = engine.group_members(options), engine.memory_mb(options)
        if members > max(engine.group_members(own_options), scenario.partitions):
            return False
        transport_mb = 0 if self.request.transport_address else registry.transport(scenario.transport).memory_mb
        return needed_mb <= max(engine.memory_mb(own_options), description.available_memory_mb() - transport_mb)

    def _accepted(self, inside: float, end: float) -> float:
        """The value nearest to ``end`` that can be set; ``inside`` can."""
        if not self.axis.whole:
            return four_digits(end) if self._accepts(four_digits(end)) else inside
        tried = end
        while inside != end:
            if self._accepts(tried):
                inside = tried
            else:
                end = tried - (1 if tried > inside else -1)
            # Neighbouring values have nothing between them.
            tried = end if abs(end - inside) == 1 else (inside + end) // 2
        return inside

    def scenario_at(self, value: float) -> Scenario:
        """The scenario of a probe. Raises UsageError for a value that the scenario or the engine refuses."""
        return with_value(self.axis, self.request.scenario, value)

    def settings(self) -> dict[str, Any]:
        """Everything that must be the same for a search to be resumed, as ``capacity.json`` has it."""
        request, scenario = self.request, self.request.scenario
        used = {"files": data_files(scenario), "program_files": program_files(scenario, request.program)}
        checksums = {name: {file.path: file.sha256 for file in files} for name, files in used.items()}
        return {
            **identifying_settings(scenario),
            "scenario": f"{scenario.study}/{scenario.name}",
            "resolution": self.resolution,
            "over": self.axis.name,
            "harder": self.axis.harder,
            "start": self.start,
            "from": self.least,
            "to": self.most,
            "bootstrap": request.transport_address,
            "load_master": request.load_master,
            "program": redact_arguments(request.program),
            # Only where there are some: earlier files lack them.
            **{name: sums for name, sums in checksums.items() if sums},
            **here(),
        }


def find_capacity(search: CapacitySearch, reporter: Reporter, show: Show = lambda row: None) -> Capacity:
    """Search below ``search.request.out``; returns the content of ``capacity.json``. ``show`` gets every probe's row.

    An unfinished search with the same settings is resumed. Raises UsageError when the directory holds anything else or
    another command is using it, EngineFailed when the system under test failed, and whatever stops a single run; what
    was found until then stays. Where already the first run is refused, nothing is written.
    """
    with directory_lock.hold(search.request.out):
        return _find_capacity(search, reporter, show)


def _find_capacity(search: CapacitySearch, reporter: Reporter, show: Show) -> Capacity:
    out, settings = search.request.out, search.settings()
    begun = CapacityFile.begun(out, settings)
    if begun is None or not begun.finished:
        search.check()
    file = begun or CapacityFile.open(out, settings)
    for row in file.probes:
        show(row)
    if file.finished:
        return file.content
    try:
        file.finish(_search(search, file, reporter, show))
    except EngineFailed as failure:
        file.note_failure(f"{failure.what}: {failure.got}")
        raise
    return file.content


def _search(search: CapacitySearch, file: CapacityFile, reporter: Reporter, show: Show) -> Answer:
    """Probe until the answer is known. Raises EngineFailed when the system under test failed."""
    out = search.request.out
    if file.guess is None:
        file.set_guess(_first_guess(search, reporter) if search.guess is None else search.guess)
    target = search.target(file.guess or search.start)
    load = search.request.scenario.load
    records = round(target.guess * (load.warmup_s + load.measured_s)) if search.axis.is_rate else load.records
    with kept_evaluator(f"capacity-{secrets.token_hex(4)}", out / "logs", search.request.master, records) as evaluator:
        while isinstance(step := advance(target, searched(file.probes)), Next):
            reporter.phase(f"probe {file.next_number}: {step.value:,} {search.axis.unit} ({step.purpose})")
            row = _probe(search, step, file, reporter, evaluator)
            file.add(row)
            show(row)
            if row.verdict == "failed":
                raise EngineFailed(
                    notice("probe-failed", value=step.value, unit=search.axis.unit),
                    where=out / row.directory,
                    got=row.reason,
                )
    return step


def exit_code(capacity: Capacity | CapacitySet) -> int:
    """What the command that made this file ends with (docs/reference/exit-codes.md)."""
    if capacity.outcome == "invalid":
        return InvalidMeasurement.exit_code
    return EXIT_MISSED if capacity.outcome == "missed" else EXIT_OK


def searched(probes: Sequence[CapacityProbe]) -> list[Probe]:
    """What the probes of a file showed."""
    words = ("sustained", "not sustained", "undecided", "invalid")
    return [
        Probe(row.value, cast(ProbeVerdict, row.verdict), row.purpose, server_blamed(row.reason))
        for row in probes
        if row.verdict in words
    ]


def _first_guess(search: CapacitySearch, reporter: Reporter) -> float:
    """The rate at which a backlog drains; the scenario's own value when that cannot be seen."""
    if not search.axis.is_rate:
        return search.start
    scenario = search.request.scenario
    load = scenario.load
    backlog = min(max(BACKLOG_S * load.rate_per_s, BACKLOG_LEAST), BACKLOG_MOST)
    burst_s = max(1.0, backlog / BACKLOG_PER_S)
    watched_s = min(DRAIN_WATCHED_S, max(load.measured_s, 5.0))
    draining = replace(
        load,
        shape="single-burst",
        rising_warmup=False,
        burst_records=backlog,
        burst_s=burst_s,
        warmup_s=burst_s,
        measured_s=DRAIN_GIVEN_UP_S + 2 * watched_s,
    )
    one_to_one = is_one_to_one(scenario)
    referee = DrainReferee(one_to_one, watched_s, DRAIN_GIVEN_UP_S)
    options = dict(scenario.engine_options)
    engine = registry.engine(scenario.engine)
    limit = engine.traits.batch_limit
    if limit and not one_to_one:
        # With an interval, the limit of a batch must not be the limit of the speed.
        options[limit] = options[limit] or round(DRAIN_BATCH * max(1.0, 4 * engine.batch_interval_s(options)))
    request = replace(
        search.request,
        scenario=replace(
            scenario,
            load=draining,
            engine_options=options,
            sustained=None,
            slo=(),
            queue_s=draining.duration_s,  # all of it may wait
        ),
        out=_fresh(search.request.out / "probes" / "00-drain"),
    )
    reporter.phase(f"draining a backlog of {backlog:,} records for a first guess")
    directory, summary = run_scenario(request, reporter, None, referee)
    _delete_records(directory)
    if why := _failures(directory, summary):
        raise EngineFailed(notice("drain-failed"), where=directory.path, got="; ".join(why))
    guess_per_s = referee.rate_per_s() or load.rate_per_s
    raised: float = guess_per_s * (1 + search.resolution) ** search.shift
    return max(1, round(raised))


def _failures(run: RunDir, summary: Summary) -> Sequence[str]:
    """What the system under test did wrong while it drained. A late generator does not excuse it: nothing is timed."""
    if summary.verdict == Verdict.FAILED.value:
        return list(summary.reasons)
    counts = {name: int(count) for name, count in summary.results.items() if count is not None}
    return [] if "expected" not in counts else failures(counts, run.manifest().engine.delivery, ())


def _probe(
    search: CapacitySearch, step: Next, file: CapacityFile, reporter: Reporter, evaluator: Evaluator
) -> CapacityProbe:
    """One run at that value, and what it shows."""
    scenario = search.scenario_at(step.value)
    probe_s, least_s, longest_s = lengths_s(scenario, step.purpose)
    load = replace(scenario.load, measured_s=longest_s)
    referee = ProbeReferee(is_one_to_one(scenario), probe_s, least_s, longest_s, scenario.sustained)
    out = _fresh(search.request.out / "probes" / f"{file.next_number:02d}-{step.value}")
    request = replace(search.request, scenario=replace(scenario, load=load), out=out)
    began = time.monotonic()
    directory, summary = run_scenario(request, reporter, evaluator, referee)
    _delete_records(directory)
    verdict, reason, weak = judge(summary, scenario.sustained, referee.given_up, referee.weak)
    if verdict == "failed" and _had_too_little(search, file, directory):
        verdict = "not sustained"
    return CapacityProbe(
        value=step.value,
        rate=load.rate_per_s,
        purpose=step.purpose,
        verdict=verdict,
        reason=reason,
        weak=weak,
        rule=sustained.decided_instead(scenario.sustained, summary.warnings),
        validated=summary.validated,
        seconds=round(time.monotonic() - began, 1),
        seconds_saved=round(referee.saved_s, 1),
        directory=str(out.relative_to(search.request.out)),
        total_p50=summary.percentile_ms("total", "p50"),
        total_p99=summary.percentile_ms("total", "p99"),
    )


def _had_too_little(search: CapacitySearch, file: CapacityFile, run: RunDir) -> bool:
    """Whether the engine died of what is searched, such as too small a heap: it lives where it has more."""
    dead = any(ended.group == "engine" for ended in run.outcome().ended)
    return dead and not search.axis.more_is_harder and any(row.verdict == "sustained" for row in file.probes)


def _delete_records(run: RunDir) -> None:
    """What a probe showed is in its summary and its measures; its records, gigabytes at high rates, are done with."""
    shutil.rmtree(run.recorded_path)


def _fresh(path: Path) -> Path:
    """That directory, or one beside it when a probe that was cut off has left something there."""
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
