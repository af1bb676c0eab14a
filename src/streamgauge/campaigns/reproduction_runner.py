"""Carries out the experiments of a reproduction: each a run, or a capacity search."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from streamgauge.campaigns.capacity import CapacitySearch, find_capacity
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.reproduction_needs import make_ready
from streamgauge.errors import EngineFailed
from streamgauge.measure.evaluation import Evaluator, kept_evaluator
from streamgauge.measure.reporter import Reporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model import Verdict
from streamgauge.model.capacity import Capacity
from streamgauge.model.summary import Summary
from streamgauge.report.capacity import write_capacity

if TYPE_CHECKING:
    from streamgauge.campaigns.reproduction_plan import PlannedExperiment


@dataclass(frozen=True)
class AttemptResult:
    """What came of one attempt at an experiment."""

    verdict: Verdict
    reasons: Sequence[str]
    summary: Summary | None = None
    capacity: Capacity | None = None

    @classmethod
    def of_run(cls, summary: Summary) -> Self:
        return cls(Verdict(summary.verdict), summary.reasons, summary=summary)


class LocalRunner:
    """Carries experiments out in fresh processes; only the evaluator is kept from run to run."""

    def __init__(self, out: Path, plans: Sequence[PlannedExperiment], reporter: Reporter) -> None:
        self._logs = out / "logs"
        self._reporter = reporter
        requested = [(planned.experiment.purpose, planned.request) for planned in plans if planned.request is not None]
        self._requests = [request for _, request in requested]
        records = (request.scenario.load.records for purpose, request in requested if purpose == "run")
        self._records = max(records, default=None)
        self._kept = ExitStack()
        self._evaluator: Evaluator | None = None

    def __enter__(self) -> Self:
        """Raises EnvironmentProblem when an engine cannot run here; nothing is written until then."""
        make_ready(self._requests, self._reporter.phase)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        assert planned.request is not None
        request = replace(planned.request, out=directory)
        if planned.experiment.purpose == "capacity":
            # A search keeps an evaluator of its own; two would take the memory of the system under test.
            self._release()
            return _search(planned.search_in(directory), reporter)
        _, summary = run_scenario(request, reporter, self._keep(request.master))
        return AttemptResult.of_run(summary)

    def _keep(self, master: str) -> Evaluator:
        if self._evaluator is None:
            name = f"reproduction-{secrets.token_hex(4)}"
            self._evaluator = self._kept.enter_context(kept_evaluator(name, self._logs, master, self._records))
        return self._evaluator

    def _release(self) -> None:
        self._evaluator = None
        self._kept.close()


def _search(search: CapacitySearch, reporter: Reporter) -> AttemptResult:
    out = search.request.out
    try:
        capacity = find_capacity(search, reporter)
    except EngineFailed as failure:
        write_capacity(out)
        content = CapacityFile.open(out, search.settings()).content
        return AttemptResult(Verdict.FAILED, [f"{failure.what}: {failure.got}"], capacity=content)
    write_capacity(out)
    invalid = capacity.outcome == "invalid"
    verdict, reasons = (Verdict.INVALID, [capacity.note]) if invalid else (Verdict.VALID, [])
    return AttemptResult(verdict, reasons, capacity=capacity)
