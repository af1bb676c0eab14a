"""Faults: what they say, and whether they can be meant in a run. ``injection`` acts them out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, cast

from streamgauge.errors import UsageError, invalid
from streamgauge.model import QUEUE_RECORDS_MAX, TRANSPORT_GROUP, Fault, ProcessSpec, Scenario
from streamgauge.studies.parsing import DURATION, read_duration_s

VERBS = ("kill", "pause", "cut")
PEER = TRANSPORT_GROUP
"""The transport's server: what a role can be cut from."""
PROXY = "proxy"
"""The role of the process between the two."""
FORMS = (
    "'kill ROLE at MOMENT', 'kill ROLE for DURATION at MOMENT', 'pause ROLE for DURATION at MOMENT' or "
    f"'cut ROLE from {PEER} for DURATION at MOMENT', such as 'pause load for 5s at 50%'; with 'every DURATION' after "
    "it to repeat it"
)
TRANSPORT_PAUSE_MAX_S = 60.0
"""The sending client gives a record up after 120 s."""
RESTART_S = 15.0
"""How long a server of the transport may take to be usable again; the load waits in the sending client meanwhile."""
EVERY_MIN_S = 1.0

_FORM = re.compile(r"(\S+)\s+(\S+)(?:\s+from\s+(\S+))?(?:\s+for\s+(.+?))?(?:\s+at\s+(.+?))?(?:\s+every\s+(.+))?")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def parse(text: str) -> Fault:
    """A fault as the command line has it. Raises UsageError."""
    match = _FORM.fullmatch(text.strip())
    verb, role, peer, length, moment, every = match.groups() if match else ("", "", None, None, None, None)
    is_complete = (moment or every) and (verb == "kill" or length) and (peer == PEER if verb == "cut" else not peer)
    if verb not in VERBS or not is_complete:
        quotes = None if len(text.split()) > 1 else "quotes around all of it: --fault 'kill engine at 50%'"
        raise invalid(_typed(text), FORMS, quotes)
    every_s = 0.0 if every is None else read_duration_s(every)
    for_s = 0.0 if length is None else read_duration_s(length)
    percent = _PERCENT.fullmatch(moment or "")
    at = every_s if moment is None else float(percent[1]) if percent else read_duration_s(moment)
    if for_s is None:
        raise invalid(_typed(text), f"{DURATION}, after `for`")
    if every_s is None:
        raise invalid(_typed(text), f"{DURATION}, after `every`")
    if at is None:
        raise invalid(_typed(text), "a moment of the measured interval after `at`, such as 50% or 20s")
    if verb == "kill" and length is not None and not for_s:
        raise invalid(_typed(text), "more than 0s after `for`: the time until the process is started again")
    if every is not None:
        _check_every(text, verb, for_s, every_s)
    unit: Literal["%", "s"] = "%" if percent else "s"
    return Fault(cast(Literal["kill", "pause", "cut"], verb), role, at, unit, for_s, every_s)


def _check_every(text: str, verb: str, for_s: float, every_s: float) -> None:
    if verb == "kill" and not for_s:
        raise UsageError(
            f"invalid {_typed(text)}: what was killed is not started again, so it cannot be killed twice",
            expected="a time after which it is started again, such as 'kill ROLE for 5s at 20s every 20s'",
        )
    if every_s < EVERY_MIN_S or every_s <= for_s:
        raise invalid(
            _typed(text), f"at least {EVERY_MIN_S:g}s after `every`, and more than the {for_s:g}s of the fault"
        )


def _typed(fault: Fault | str) -> str:
    return f"--fault {str(fault)!r}"


def has_cut(scenario: Scenario, *, of_load: bool) -> bool:
    """Whether a fault cuts a load worker, or else a process of the engine, from the transport."""
    return any(fault.verb == "cut" and (fault.role in load_roles(scenario)) is of_load for fault in scenario.faults)


def restarts(scenario: Scenario, role: str) -> bool:
    """Whether a fault kills that role and starts it again."""
    return any(fault.verb == "kill" and fault.for_s > 0 and fault.role == role for fault in scenario.faults)


def load_roles(scenario: Scenario) -> tuple[str, ...]:
    """The roles of the load workers."""
    workers = scenario.generators
    return ("load",) if workers == 1 else tuple(f"load-{number}" for number in range(1, workers + 1))


def check(scenario: Scenario, specs: Sequence[ProcessSpec], *, own_transport: bool = True) -> None:
    """Raises UsageError for a fault that cannot take effect in a run of these processes, or would spoil it."""
    if scenario.faults and not scenario.load.scheduled:
        raise UsageError(
            f"invalid {_typed(scenario.faults[0])}: a load of shape {scenario.load.shape} takes no faults",
            expected="a load whose measured interval is known beforehand",
            hint="--set shape=constant",
        )
    measured_s = scenario.load.measured_s
    victims = [spec for spec in specs if not spec.once and not spec.watches and spec.role != PROXY]
    groups = {role: spec.group for spec in victims for role in spec.roles}
    parents = {member.role: spec.role for spec in victims for member in spec.members}
    for fault in scenario.faults:
        if fault.role not in groups:
            # No suggestion: a wrong one would kill another process.
            raise UsageError(
                f"invalid {_typed(fault)}: this run has no process {fault.role!r}",
                expected=f"one of {', '.join(sorted(groups))}",
                hint="streamgauge plan with the same options shows what each process is",
            )
        _check_moment(fault, measured_s)
        _check_verb(fault, groups, own_transport=own_transport)
        if fault.verb == "kill" and fault.for_s and fault.role in parents:
            raise UsageError(
                f"invalid {_typed(fault)}: {parents[fault.role]} itself starts {fault.role} again",
                expected=f"kill {fault.role} without a duration, or a kill of {parents[fault.role]}",
            )
        if groups[fault.role] == TRANSPORT_GROUP:
            _check_queue(fault, scenario)
    single = [one for fault in scenario.faults for one in fault.occurrences(measured_s)]
    for spec in victims:
        of_process = sorted((one for one in single if one.role in spec.roles), key=lambda one: one.at_s(measured_s))
        for first, second in pairwise(of_process):
            _check_apart(first, second, measured_s)


def _check_verb(fault: Fault, groups: Mapping[str, str], *, own_transport: bool) -> None:
    group = groups[fault.role]
    if fault.verb == "cut" and group == TRANSPORT_GROUP:
        others = ", ".join(sorted(role for role in groups if groups[role] != TRANSPORT_GROUP))
        raise UsageError(
            f"invalid {_typed(fault)}: {fault.role} is what others are cut from", expected=f"one of {others}"
        )
    if fault.verb == "cut" and not own_transport:
        raise UsageError(
            f"invalid {_typed(fault)}: only the {PEER} that streamgauge starts can be cut off",
            got="--bootstrap",
            expected="a run without --bootstrap",
            hint="pause the process instead, or leave out --bootstrap",
        )
    if fault.verb == "kill" and fault.for_s and group == "load":
        raise UsageError(
            f"invalid {_typed(fault)}: a load worker cannot be started again, since its load would have a gap",
            expected=f"a process of the engine, or the {PEER}",
        )


def _check_moment(fault: Fault, measured_s: float) -> None:
    at_s = fault.at_s(measured_s)
    if at_s >= measured_s:
        raise UsageError(
            f"invalid {_typed(fault)}: {at_s:g} s after its start, the measured interval is over",
            expected=f"a moment before {measured_s:g}s, or below 100%",
            hint="an earlier moment, or a longer --for",
        )
    if (fault.for_s or fault.verb != "kill") and not 0 < fault.for_s <= measured_s - at_s:
        raise UsageError(
            f"invalid {_typed(fault)}: the {fault.verb} does not fit into the measured interval",
            expected=f"more than 0s, and at most the {measured_s - at_s:g}s that remain",
            hint=f"a shorter {fault.verb}, or a longer --for",
        )


def _check_queue(fault: Fault, scenario: Scenario) -> None:
    """While the transport stands still, the load waits in the sending client."""
    if fault.for_s > TRANSPORT_PAUSE_MAX_S:
        most = f"a {fault.verb} of at most {TRANSPORT_PAUSE_MAX_S:g}s"
        raise UsageError(f"invalid {_typed(fault)}: the {fault.role} cannot be away that long", expected=most)
    needed = scenario.load.most_within(math.ceil(_away_s(fault)))
    if needed > QUEUE_RECORDS_MAX:
        raise UsageError(
            f"invalid {_typed(fault)}: the load of that time does not fit into the sending client's queue",
            got=f"{needed:,} records",
            expected=f"at most {QUEUE_RECORDS_MAX:,}",
            hint="a shorter fault, or a lower --rate",
        )


def _check_apart(first: Fault, second: Fault, measured_s: float) -> None:
    if not first.for_s or first.at_s(measured_s) + first.for_s >= second.at_s(measured_s):
        raise UsageError(
            f"{_typed(first)} and {_typed(second)} conflict",
            expected="one after the other, and none after a kill without `for`: what it killed is not started again",
        )


def longest_pause_s(scenario: Scenario, specs: Sequence[ProcessSpec]) -> float:
    """The longest planned time without one of these processes."""
    roles = {role for spec in specs for role in spec.roles}
    return max((_away_s(fault) for fault in scenario.faults if fault.role in roles), default=0.0)


def _away_s(fault: Fault) -> float:
    """How long its process is away; 0 for a kill that is for good."""
    return fault.for_s + RESTART_S if fault.verb == "kill" and fault.for_s else fault.for_s
