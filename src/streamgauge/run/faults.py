"""Faults: what they say, whether they can be meant, and acting them out on the processes of a run."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal, cast

import psutil

from streamgauge.errors import UsageError, invalid
from streamgauge.model import NS_PER_S, QUEUE_RECORDS_MAX, TRANSPORT_GROUP, Fault, ProcessSpec, Scenario
from streamgauge.model.outcome import FaultRecord
from streamgauge.processes import proctable
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies.parsing import DURATION, read_duration_s

VERBS = ("kill", "pause")
FORMS = "'kill ROLE at MOMENT' or 'pause ROLE for DURATION at MOMENT', such as 'pause load for 5s at 50%'"
TRANSPORT_PAUSE_MAX_S = 60.0
"""The sending client gives a record up after 120 s."""

_FORM = re.compile(r"(\S+)\s+(\S+)(?:\s+for\s+(.+?))?\s+at\s+(.+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_SEEN_WITHIN_S = 1.0
_LOOK_S = 0.005


def parse(text: str) -> Fault:
    """A fault as the command line has it. Raises UsageError."""
    verb = next(iter(text.split()), "")
    match = _FORM.fullmatch(text.strip())
    if verb not in VERBS or not match or (match[3] is not None) is not (verb == "pause"):
        quotes = None if len(text.split()) > 1 else "quotes around all of it: --fault 'kill engine at 50%'"
        raise invalid(_typed(text), FORMS, quotes)
    _, role, length, moment = match.groups()
    percent = _PERCENT.fullmatch(moment)
    at = float(percent[1]) if percent else read_duration_s(moment)
    for_s = 0.0 if length is None else read_duration_s(length)
    if at is None:
        raise invalid(_typed(text), "a moment of the measured interval after `at`, such as 50% or 20s")
    if for_s is None:
        raise invalid(_typed(text), f"{DURATION}, after `for`")
    return Fault(verb=cast(Literal["kill", "pause"], verb), role=role, at=at, unit="%" if percent else "s", for_s=for_s)


def _typed(fault: Fault | str) -> str:
    return f"--fault {str(fault)!r}"


def check(scenario: Scenario, specs: Sequence[ProcessSpec]) -> None:
    """Raises UsageError for a fault that cannot take effect in a run of these processes, or would spoil it."""
    if scenario.faults and not scenario.load.scheduled:
        raise UsageError(
            f"invalid {_typed(scenario.faults[0])}: a load of shape {scenario.load.shape} takes no faults",
            expected="a load whose measured interval is known beforehand",
            hint="--set shape=constant",
        )
    groups = {role: spec.group for spec in specs if not spec.once and not spec.watches for role in spec.roles}
    for fault in scenario.faults:
        if fault.role not in groups:
            # No suggestion: a wrong one would kill another process.
            raise UsageError(
                f"invalid {_typed(fault)}: this run has no process {fault.role!r}",
                expected=f"one of {', '.join(sorted(groups))}",
                hint="streamgauge plan with the same options shows what each process is",
            )
        _check_moment(fault, scenario.load.measured_s)
        if groups[fault.role] == TRANSPORT_GROUP:
            _check_queue(fault, scenario)
    for one, other in combinations(scenario.faults, 2):
        _check_apart(one, other, scenario.load.measured_s)


def _check_moment(fault: Fault, measured_s: float) -> None:
    at_s = fault.at_s(measured_s)
    if at_s >= measured_s:
        raise UsageError(
            f"invalid {_typed(fault)}: {at_s:g} s after its start, the measured interval is over",
            expected=f"a moment before {measured_s:g}s, or below 100%",
            hint="an earlier moment, or a longer --for",
        )
    if fault.verb == "pause" and not 0 < fault.for_s <= measured_s - at_s:
        raise UsageError(
            f"invalid {_typed(fault)}: the pause does not fit into the measured interval",
            expected=f"more than 0s, and at most the {measured_s - at_s:g}s that remain",
            hint="a shorter pause, or a longer --for",
        )


def _check_queue(fault: Fault, scenario: Scenario) -> None:
    """While the transport stands still, the load waits in the sending client."""
    if fault.for_s > TRANSPORT_PAUSE_MAX_S:
        most = f"a pause of at most {TRANSPORT_PAUSE_MAX_S:g}s"
        raise UsageError(f"invalid {_typed(fault)}: the {fault.role} cannot be paused that long", expected=most)
    needed = scenario.load.most_within(math.ceil(fault.for_s))
    if fault.verb == "pause" and needed > QUEUE_RECORDS_MAX:
        raise UsageError(
            f"invalid {_typed(fault)}: the load of the pause does not fit into the sending client's queue",
            got=f"{needed:,} records",
            expected=f"at most {QUEUE_RECORDS_MAX:,}",
            hint="a shorter pause, or a lower --rate",
        )


def _check_apart(one: Fault, other: Fault, measured_s: float) -> None:
    if one.role != other.role:
        return
    first, second = sorted((one, other), key=lambda fault: fault.at_s(measured_s))
    if first.verb == "kill" or first.at_s(measured_s) + first.for_s >= second.at_s(measured_s):
        raise UsageError(
            f"{_typed(first)} and {_typed(second)} conflict",
            expected="one after the other, and none after a kill: what was killed is not started again",
        )


def longest_pause_s(scenario: Scenario, specs: Sequence[ProcessSpec]) -> float:
    """The longest planned pause of one of these processes."""
    roles = {spec.role for spec in specs}
    return max((fault.for_s for fault in scenario.faults if fault.role in roles), default=0.0)


class Faults:
    """Acts out the faults of one run, each at its moment, in a thread of its own: none waits for another."""

    def __init__(
        self, scenario: Scenario, supervisor: Supervisor, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self._measured_s = scenario.load.measured_s
        self._supervisor = supervisor
        self._say = say
        self._over = threading.Event()
        self._planned = [(fault, _not_yet(fault)) for fault in scenario.faults]
        self._threads: list[threading.Thread] = []

    def begin(self, measured_start_ns: int) -> None:
        """Set the clock going: from now on each fault knows its moment."""
        for fault, record in self._planned:
            record.planned_ns = measured_start_ns + round(fault.at_s(self._measured_s) * NS_PER_S)
            due_s = time.monotonic() + (record.planned_ns - time.time_ns()) / NS_PER_S
            thread = threading.Thread(target=self._act, args=(fault, record, due_s), name=str(fault), daemon=True)
            self._threads.append(thread)
            thread.start()

    def end(self) -> list[FaultRecord]:
        """Let what is paused go on, and act no more. Returns what became of each fault; safe to call twice."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        return [record for _, record in self._planned]

    def killed(self) -> set[str]:
        """The roles that a fault has ended."""
        return {fault.role for fault, record in self._planned if fault.verb == "kill" and record.took_effect}

    def _act(self, fault: Fault, record: FaultRecord, due_s: float) -> None:
        if self._over.wait(max(due_s - time.monotonic(), 0.0)):
            return
        if not self._is_running(fault.role):
            started = any(one.role == fault.role for one in self._supervisor.processes())
            record.why_not = f"{fault.role} was not running{' any more' if started else ''}"
            return
        self._say(f"fault: {fault}")
        record.acted_ns = time.time_ns()
        if fault.verb == "kill":
            self._kill(fault.role, record)
        else:
            self._pause(fault.role, record, fault.for_s)

    def _is_running(self, role: str) -> bool:
        """Of a started process, its descendants do not count."""
        running = next((one for one in self._supervisor.processes() if one.role == role), None)
        return proctable.is_alive(running.identity) if running else bool(self._supervisor.find(role))

    def _kill(self, role: str, record: FaultRecord) -> None:
        alive = self._supervisor.kill(role)
        record.ended_ns = time.time_ns()
        record.took_effect = not alive
        record.why_not = f"{len(alive)} processes of {role} were still there" if alive else None

    def _pause(self, role: str, record: FaultRecord, for_s: float) -> None:
        try:
            record.took_effect = self._hold(role)
            record.why_not = None if record.took_effect else f"{role} was not seen stopped"
            self._over.wait(for_s)
        finally:
            self._supervisor.resume(role)
            record.ended_ns = time.time_ns()

    def _hold(self, role: str) -> bool:
        """Stop all its processes; whether they were seen stopped. One may be born while the others are stopped."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while time.monotonic() < deadline:
            self._supervisor.pause(role)
            processes = self._supervisor.find(role)
            if processes and all(_is_stopped(process.pid) for process in processes):
                return True
            time.sleep(_LOOK_S)
        return False


def _not_yet(fault: Fault) -> FaultRecord:
    return FaultRecord(
        fault=str(fault),
        verb=fault.verb,
        role=fault.role,
        planned_ns=None,
        acted_ns=None,
        ended_ns=None,
        took_effect=False,
        why_not="the run was over before its moment",
    )


def _is_stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False
