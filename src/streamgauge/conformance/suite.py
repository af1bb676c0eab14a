"""Runs the checks of one engine: on its plan, and on one short run per workload and variant."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import psutil

from streamgauge import defaults, registry
from streamgauge.conformance import checks
from streamgauge.conformance.checks import Ended, Observed, Planned
from streamgauge.contracts import Engine
from streamgauge.errors import Unsupported
from streamgauge.measure import plan as plans
from streamgauge.measure.evaluation import Evaluator
from streamgauge.measure.measurement import Measurement
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter, Tick
from streamgauge.measure.requirements import fetch_jars
from streamgauge.measure.runner import remove_streams
from streamgauge.model import LoadPlan, ResultKind, Scenario
from streamgauge.processes import proctable, reaping
from streamgauge.processes.process import Running
from streamgauge.processes.proctable import Identity
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.stages import VARIANTS

ATTEMPTS = 3
LOAD = LoadPlan(rate_per_s=200, warmup_s=1.0, measured_s=4.0, tail_s=0.5)
LONGER_LOAD = replace(LOAD, warmup_s=2.0, measured_s=10.0)
"""For results that take long to settle. Twelve seconds with the warm-up: some look back nine."""
LONG_TO_SETTLE_S = 2.0


@dataclass(frozen=True)
class Finding:
    """The result of one check; ``problem`` is None if it passed."""

    check: str
    subject: str
    problem: str | None


@dataclass
class Bench:
    """A transport and an evaluator that all runs of a suite share."""

    supervisor: Supervisor
    evaluator: Evaluator
    transport_address: str
    directory: Path
    runs: int = 0

    def out(self, name: str) -> Path:
        self.runs += 1
        return self.directory / f"{self.runs:02d}-{name.replace('/', '-')}"


@contextmanager
def bench(directory: Path | None = None) -> Iterator[Bench]:
    """Start the shared transport and evaluator; the evaluator's Spark starts when first needed."""
    scenario = scenarios.resolve(defaults.SCENARIO, engine="echo")
    groups = plans.needed_jar_groups(scenario, own_transport=True)
    fetch_jars(groups, lambda _: None)
    name = f"conformance-{secrets.token_hex(3)}"
    with Supervisor(name) as supervisor:
        home = directory or supervisor.work_dir
        plan = plans.draw(Request(scenario, home / "bench"), name, supervisor.work_dir)
        supervisor.start_all(plan.servers)
        evaluator = Evaluator(supervisor, plan.evaluator)
        yield Bench(supervisor, evaluator, plan.transport.address, home)


@dataclass
class _ProcessObserver(NullReporter):
    """Records the engine's processes and sockets while they exist."""

    supervisor: Supervisor
    engine: dict[str, Running] = field(default_factory=dict)
    seen: set[Identity] = field(default_factory=set)
    listening: set[str] = field(default_factory=set)

    def tick(self, tick: Tick) -> None:
        for running in self.supervisor.processes():
            if running.group != "engine":
                continue
            self.engine[running.role] = running
            family = reaping.find([running.identity], {running.token})
            self.seen |= family
            for process in family:
                self.listening |= _listening(process.pid)


def _listening(pid: int) -> set[str]:
    try:
        sockets = psutil.Process(pid).net_connections("inet")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return set()
    return {f"{s.laddr.ip}:{s.laddr.port}" for s in sockets if s.status == psutil.CONN_LISTEN}


class Case(NamedTuple):
    """One run of the suite."""

    workload: str
    variant: str
    settings: Mapping[str, str]
    scenario: str
    """``study/scenario`` that sets the workload's parameters."""


def cases(engine: Engine) -> list[Case]:
    """Every workload of an engine, with the parameters of each study, in every variant that the engine supports.

    If results can be written in transactions, the first workload of each kind of results is also run that way.
    """
    every = [
        Case(workload, variant, settings, scenario)
        for workload in workloads_to_check(engine)
        for scenario in scenarios_of(workload)
        for variant, settings in VARIANTS.items()
        if settings.keys() <= engine.options.model_fields.keys() and _is_supported(engine, workload, settings, scenario)
    ]
    if engine.traits.transactional and engine.options.model_fields["delivery"].default != "exactly-once":
        first_of_kind: dict[ResultKind, Case] = {}
        for case in every:
            kind = registry.workload(case.workload).kind
            if kind is not ResultKind.NONE:
                first_of_kind.setdefault(kind, case)
        every += [
            Case(case.workload, "exactly-once", {"delivery": "exactly-once"}, case.scenario)
            for case in first_of_kind.values()
        ]
    return every


def workloads_to_check(engine: Engine) -> list[str]:
    """Raises Unsupported for an engine that only runs what a user brings, which has no known answer."""
    workloads = [name for name in sorted(engine.traits.workloads) if not registry.workload(name).users_program]
    if not workloads:
        raise Unsupported(f"engine {engine.name} only runs your own script", expected="an engine with programs")
    return workloads


def scenarios_of(workload: str) -> list[str]:
    """One scenario for each distinct set of parameters of the workload in the studies."""
    by_parameters: dict[str, str] = {}
    for name in scenarios.names():
        for chosen, of_choice in scenarios.describe(name).workloads.items():
            if of_choice == workload:
                choice = scenarios.describe(name).choice
                # For no particular engine: `command` accepts every workload.
                resolved = scenarios.resolve(name, engine="command", changes={choice: chosen})
                by_parameters.setdefault(str(sorted(resolved.parameters.items())), name)
    return list(by_parameters.values())


def _is_supported(engine: Engine, workload: str, settings: Mapping[str, str], scenario: str) -> bool:
    try:
        scenario_for(engine, workload, settings, scenario)
    except Unsupported:
        return False
    return True


def scenario_for(
    engine: Engine, workload: str, changes: Mapping[str, str] | None = None, scenario: str | None = None
) -> Scenario:
    """The shortest run that produces every result of a workload: one of its scenarios, shortened."""
    name = scenario or scenarios_of(workload)[0]
    described = scenarios.describe(name)
    chosen = next(chosen for chosen, of_choice in described.workloads.items() if of_choice == workload)
    # All runs of a suite share one server.
    settings = {described.choice: chosen, "transport": defaults.TRANSPORT, **(changes or {})}
    resolved = scenarios.resolve(name, engine=engine.name, changes=settings)
    load = LONGER_LOAD if registry.workload(workload).settles_s(resolved.parameters) > LONG_TO_SETTLE_S else LOAD
    return replace(resolved, load=replace(load, tail_s=max(load.tail_s, resolved.load.tail_s)), sustained=None)


def observe(
    shared: Bench,
    engine: Engine,
    workload: str,
    program: tuple[str, ...] = (),
    changes: Mapping[str, str] | None = None,
    scenario: str | None = None,
    attempts: int = ATTEMPTS,
) -> Observed:
    """Run a workload, with the load starting before the engine if it has results, and record what is visible.

    An INVALID measurement allows no conclusion about the engine, so it is repeated.
    """
    for _ in range(attempts):
        resolved = scenario_for(engine, workload, changes, scenario)
        observed = _observe_once(shared, engine, resolved, program)
        if observed.summary.verdict != "INVALID":
            break
    return observed


def _observe_once(shared: Bench, engine: Engine, scenario: Scenario, program: tuple[str, ...]) -> Observed:
    groups = plans.needed_jar_groups(scenario, own_transport=True)
    fetch_jars(groups, lambda _: None)
    engine.prepare(lambda _: None)
    request = Request(
        scenario,
        shared.out(f"{engine.name}-{scenario.workload}"),
        transport_address=shared.transport_address,
        program=program,
        # Without results the generator's limits are fixed: an engine that starts beside it would make it late.
        load_first=registry.workload(scenario.workload).kind is not ResultKind.NONE,
    )
    run = RunDir.create(request.out)
    name = plans.run_name(request.scenario)
    with Supervisor(name, run.path / "logs") as supervisor:
        observer = _ProcessObserver(supervisor)
        plan = plans.draw(request, name, supervisor.work_dir)
        try:
            summary = Measurement(plan, supervisor, observer, shared.evaluator).measure()
        finally:
            supervisor.stop_all()
            remove_streams(plan, observer)
    leftovers = [f"process {identity.pid}" for identity in observer.seen if proctable.is_alive(identity)]
    leftovers += [str(plan.work_dir)] if plan.work_dir.exists() else []
    return Observed(
        engine=engine,
        workload=scenario.workload,
        delivery=engine.traits.delivery_with(scenario.engine_options),
        summary=summary,
        outcome=run.outcome(),
        listening=frozenset(observer.listening),
        ended=tuple(
            Ended(role, r.exit_code, r.exit_code == 137, r.spec.stop.exit_codes) for role, r in observer.engine.items()
        ),
        left_over=tuple(leftovers),
    )


def look_at_plan(engine: Engine, program: tuple[str, ...] = ()) -> Planned:
    """Plan the same job twice and record any side effects."""
    workload = next(name for name in workloads_to_check(engine) if scenarios_of(name))
    with tempfile.TemporaryDirectory(prefix="streamgauge-check-") as home:
        work = Path(home) / "work"
        work.mkdir()
        scenario, nowhere = scenario_for(engine, workload), "127.0.0.1:9"
        request = Request(scenario, Path(home) / "out", transport_address=nowhere, program=program)
        before = frozenset(str(path) for path in Path(home).rglob("*"))
        first = plans.draw(request, "conformance", work)
        second = engine.plan(first.job)
        after = frozenset(str(path) for path in Path(home).rglob("*"))
    return Planned(
        engine=engine,
        workloads=registry.engine_workloads(),
        first=tuple(first.engine),
        second=tuple(second),
        files_before=before,
        files_after=after,
    )


def check_engine(
    shared: Bench,
    name: str,
    program: tuple[str, ...] = (),
    say: Callable[[Finding], None] = lambda _: None,
    workloads: Collection[str] = (),
) -> list[Finding]:
    """All checks of an engine, with these workloads or all that it supports.

    Every finding is also passed to ``say`` as soon as it is available.
    """
    engine = registry.engine(name)
    findings: list[Finding] = []

    def note(check: Callable[..., str | None], subject: str, problem: str | None) -> None:
        finding = Finding(check.__name__.removeprefix("check_").replace("_", " "), subject, problem)
        findings.append(finding)
        say(finding)

    planned = look_at_plan(engine, program)
    for planned_check in checks.planned_checks():
        note(planned_check, "plan", planned_check(planned))
    for workload, variant, settings, scenario in cases(engine):
        if workloads and workload not in workloads:
            continue
        observed = observe(shared, engine, workload, program, settings, scenario)
        for observed_check in checks.observed_checks(observed.delivery):
            note(observed_check, f"{workload} {variant}", observed_check(observed))
    return findings
