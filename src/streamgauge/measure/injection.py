"""Acts out the faults of a run on its processes, each at its moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from streamgauge.errors import StreamgaugeError
from streamgauge.measure.faults import NON_RECIPIENT, PEER, PROXY
from streamgauge.model import NS_PER_S, Fault, Scenario
from streamgauge.model.nodes import reading
from streamgauge.model.outcome import FaultRecord
from streamgauge.processes.connections import ports_to
from streamgauge.processes.supervisor import Supervisor

_SEEN_WITHIN_S = 1.0
_LOOK_S = 0.005
_CUT_LOOK_S = 0.1
"""How often the connections of a role are looked up while it is cut off."""
_PROXY_ANSWER_S = 5.0


@dataclass(frozen=True)
class FailedRestart:
    """A role that did not become usable again."""

    role: str
    fault: str
    problem: StreamgaugeError


class FaultInjector:
    """Acts out the faults of one run, each in a thread of its own: none waits for another.

    ``proxy_port`` is where the proxy listens, in a run with a cut. ``received`` returns what each node of the engine
    has received from the transport so far, in the order of the plan; empty where that is not known.
    """

    def __init__(
        self,
        scenario: Scenario,
        supervisor: Supervisor,
        say: Callable[[str], None] = lambda text: None,
        proxy_port: int = 0,
        received: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._supervisor = supervisor
        self._say = say
        self._proxy_port = proxy_port
        self._received = received
        self._choosing = threading.Lock()
        self._affected: set[str] = set()
        """Roles that a fault acts on now."""
        self._over = threading.Event()
        self._measured_s = scenario.load.measured_s
        single = [one for fault in scenario.faults for one in fault.occurrences(self._measured_s)]
        self._planned = [(fault, _not_yet(number, fault)) for number, fault in enumerate(single, start=1)]
        self._scheduler: threading.Thread | None = None
        self._threads: list[threading.Thread] = []
        self._restarting: set[str] = set()
        self.failed_restart: FailedRestart | None = None

    def begin(self, start_ns: int) -> None:
        """Set the clock going: from now on each fault knows its moment, which counts from ``start_ns``."""
        due = []
        for fault, record in self._planned:
            record.planned_ns = start_ns + round(fault.at_s(self._measured_s) * NS_PER_S)
            due.append((time.monotonic() + (record.planned_ns - time.time_ns()) / NS_PER_S, fault, record))
        due.sort(key=lambda one: one[0])
        self._scheduler = threading.Thread(target=self._start_when_due, args=(due,), name="faults", daemon=True)
        self._scheduler.start()

    def _start_when_due(self, due: Sequence[tuple[float, Fault, FaultRecord]]) -> None:
        for due_s, fault, record in due:
            if self._over.wait(max(due_s - time.monotonic(), 0.0)):
                return
            thread = threading.Thread(target=self._act, args=(fault, record), name=str(fault), daemon=True)
            self._threads.append(thread)
            thread.start()

    def end(self) -> list[FaultRecord]:
        """Let what is paused or cut off go on, and act no more. Returns what became of each fault.

        Safe to call twice. A restart that is under way is not awaited.
        """
        self._over.set()
        if self._scheduler is not None:
            self._scheduler.join()
        for thread in self._threads:
            thread.join()
        return [record for _, record in self._planned]

    def killed(self) -> set[str]:
        """The roles that a fault has ended for good."""
        return {
            record.role
            for fault, record in self._planned
            if fault.verb == "kill" and not fault.for_s and record.took_effect
        }

    @property
    def has_acted(self) -> bool:
        """Whether the moment of a fault has come."""
        return any(record.acted_ns is not None for _, record in self._planned)

    @property
    def is_restarting(self) -> bool:
        """Whether a role is away and will be back."""
        return bool(self._restarting)

    @property
    def is_acting(self) -> bool:
        """Whether a role is away, paused or cut off, and will go on."""
        held = (record for fault, record in self._planned if fault.verb != "kill")
        return self.is_restarting or any(record.took_effect and not record.ended_ns for record in held)

    def _act(self, fault: Fault, record: FaultRecord) -> None:
        with self._choosing:
            role, why_not = self._choose() if fault.role == NON_RECIPIENT else (fault.role, self._why_not(fault.role))
            record.role, record.why_not = role, why_not
            if why_not is not None:
                return
            self._affected.add(role)
        self._say(f"fault: {fault}{f', which is {role}' if role != fault.role else ''}")
        record.acted_ns = time.time_ns()
        if fault.verb == "kill":
            self._kill(fault, record)
        elif fault.verb == "pause":
            self._pause(fault, record)
        else:
            self._cut(fault, record)
        self._affected.discard(role)

    def _why_not(self, role: str) -> str | None:
        """Why a fault cannot act on this role now; None if it can."""
        if not self._supervisor.lives(role):
            return f"{role} was not running"
        if not self._supervisor.is_usable(role):
            return f"{role} was still starting"
        if self._affected & self._supervisor.overlapping(role):
            return f"another fault was acting on {role}"
        return None

    def _choose(self) -> tuple[str, str | None]:
        """The first node that does not read, by all that the nodes have received so far; or why there is none.

        Only one that a fault can act on.
        """
        received = self._received()
        readers = reading(received)
        if readers is None:
            return (
                NON_RECIPIENT,
                "no node had read anything yet, so that none could be told from the others: use a later moment",
            )
        for role in received:
            if role not in readers and self._why_not(role) is None:
                return role, None
        return NON_RECIPIENT, f"every node that was left had read (of {len(received)}, {len(readers)} read)"

    def _kill(self, fault: Fault, record: FaultRecord) -> None:
        up_again_s = time.monotonic() + fault.for_s
        if fault.for_s:
            self._restarting.add(record.role)
        try:
            alive = self._supervisor.kill(record.role)
            record.ended_ns = time.time_ns()
            record.took_effect = not alive
            record.why_not = f"{len(alive)} processes of {record.role} were still there" if alive else None
            if fault.for_s and not alive and not self._over.wait(max(up_again_s - time.monotonic(), 0.0)):
                self._restart(record)
        finally:
            self._restarting.discard(record.role)

    def _restart(self, record: FaultRecord) -> None:
        self._say(f"fault: starting {record.role} again")
        record.restarted_ns, record.ended_ns = time.time_ns(), None
        try:
            if self._supervisor.restart(record.role, given_up=self._over.is_set):
                record.ended_ns = time.time_ns()
        except StreamgaugeError as problem:
            self.failed_restart = self.failed_restart or FailedRestart(record.role, record.fault, problem)

    def _pause(self, fault: Fault, record: FaultRecord) -> None:
        try:
            record.took_effect = self._hold(record.role)
            record.why_not = None if record.took_effect else f"{record.role} was not seen stopped"
            self._over.wait(fault.for_s)
        finally:
            self._supervisor.resume(record.role)
            record.ended_ns = time.time_ns()

    def _hold(self, role: str) -> bool:
        """Stop all its processes; whether they were seen stopped. One may be born while the others are stopped."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while time.monotonic() < deadline:
            self._supervisor.pause(role)
            processes = self._supervisor.identities(role)
            if processes and all(_is_stopped(process.pid) for process in processes):
                return True
            time.sleep(_LOOK_S)
        return False

    def _cut(self, fault: Fault, record: FaultRecord) -> None:
        record.why_not = f"{record.role} had no connection to the {PEER}"
        until_s: float | None = None
        try:
            try:
                while True:
                    ports = ports_to(self._proxy_port, self._supervisor.identities(record.role))
                    if self._ask_proxy("hold", "held", record, ports=sorted(ports))["connections"]:
                        record.took_effect, record.why_not = True, None
                    # From now on: the connections were looked up first.
                    until_s = time.monotonic() + fault.for_s if until_s is None else until_s
                    left_s = until_s - time.monotonic()
                    if left_s <= 0 or self._over.wait(min(left_s, _CUT_LOOK_S)):
                        break
            finally:
                self._ask_proxy("release", "released", record)
                record.ended_ns = time.time_ns()
        except StreamgaugeError as problem:
            record.took_effect, record.why_not = False, problem.what

    def _ask_proxy(self, command: str, answer: str, record: FaultRecord, **fields: object) -> dict[str, object]:
        self._supervisor.send(PROXY, json.dumps({"do": command, "cut": record.number, **fields}))
        return self._supervisor.wait_event(PROXY, f"{answer}-{record.number}", _PROXY_ANSWER_S)


def _not_yet(number: int, fault: Fault) -> FaultRecord:
    return FaultRecord(
        fault=str(fault),
        number=number,
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
