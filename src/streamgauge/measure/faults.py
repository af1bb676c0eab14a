"""Faults: what they say, and whether they can be meant in a run. ``injection`` acts them out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, cast

from streamgauge import registry
from streamgauge.errors import Unsupported, UsageError, invalid
from streamgauge.model import QUEUE_RECORDS_MAX, TRANSPORT_GROUP, Fault, ProcessSpec, Scenario
from streamgauge.processes import sockets
from streamgauge.studies.parsing import DURATION, read_duration_s

VERBS = ("kill", "pause", "cut")
PEER = TRANSPORT_GROUP
"""The transport's server: what a role can be cut from."""
PROXY = "proxy"
"""The role of the process between the two."""
NON_RECIPIENT = "non-recipient"
"""In place of a role: a node that does not read the input, chosen when the fault acts."""
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
        quotes = None if len(text.split()) != 1 else "quotes around all of it: --fault 'kill engine at 50%'"
        raise invalid(_typed(text), FORMS, quotes)
    if verb == "cut" and role == NON_RECIPIENT:
        raise UsageError(
            f"invalid {_typed(text)}: a node that reads nothing from the {PEER} cannot be cut off from what it reads",
            expected=f"kill {NON_RECIPIENT} or pause {NON_RECIPIENT}, or the role of a process to cut off",
        )
    every_s = 0.0 if every is None else _rounded(read_duration_s(every))
    for_s = 0.0 if length is None else _rounded(read_duration_s(length))
    percent = _PERCENT.fullmatch(moment or "")
    at = every_s if moment is None else _rounded(float(percent[1]) if percent else read_duration_s(moment))
    if for_s is None:
        raise invalid(_typed(text), f"{DURATION}, after `for`")
    if every_s is None:
        raise invalid(_typed(text), f"{DURATION}, after `every`")
    if at is None:
        raise invalid(_typed(text), "a moment of the measured interval after `at`, such as 50% or 20s")
    if length is not None and not for_s:
        meaning = "the time until the process is started again" if verb == "kill" else f"how long the {verb} lasts"
        raise invalid(_typed(text), f"more than 0s after `for`, in whole milliseconds: {meaning}")
    if every is not None:
        _check_every(text, for_s, every_s)
    unit: Literal["%", "s"] = "%" if percent else "s"
    return Fault(cast(Literal["kill", "pause", "cut"], verb), role, at, unit, for_s, every_s)


def _rounded(value: float | None) -> float | None:
    """To what the moments of a run are measured in, and a user can read: milliseconds. None for what is infinite."""
    return None if value is None or math.isinf(value) else round(value, 3)


def _check_every(text: str, for_s: float, every_s: float) -> None:
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


def check_supported(scenario: Scenario) -> None:
    """Raises Unsupported for a fault that the engine or this machine does not allow for, with the reason."""
    for fault in (fault for fault in scenario.faults if fault.role == NON_RECIPIENT):
        engine = registry.engine(scenario.engine)
        if reason := engine.only_recipients(scenario.engine_options):
            raise Unsupported(
                f"invalid {_typed(fault)}: engine {engine.name} has no node that works without reading",
                got=reason,
                expected="the role of a process, or an engine that passes on what some of its nodes read",
                hint="streamgauge plan with the same options shows the roles",
            )
        if unknown := sockets.why_unknown():
            raise Unsupported(
                f"invalid {_typed(fault)}: it cannot be seen here which nodes read",
                got=unknown,
                expected="the role of a process",
            )


def check(scenario: Scenario, specs: Sequence[ProcessSpec], *, own_transport: bool = True) -> None:
    """Raises UsageError for a fault that cannot take effect in a run of these processes, or would spoil it."""
    load = scenario.load
    preloaded = load.shape == "preloaded"
    if scenario.faults and not load.scheduled and not preloaded:
        raise UsageError(
            f"invalid {_typed(scenario.faults[0])}: a load of shape {load.shape} takes no faults",
            expected="a load whose measured interval is known beforehand",
            hint="--set shape=constant",
        )
    check_supported(scenario)
    victims = [spec for spec in specs if not spec.once and not spec.watches and spec.role != PROXY]
    if preloaded:
        victims = [spec for spec in victims if spec.group != "load"]  # it has ended before the engine is started
    groups = {role: spec.group for spec in victims for role in spec.roles}
    parents = {member.role: spec.role for spec in victims for member in spec.members}
    pairs = {spec.role: spec.part_of for spec in victims if spec.part_of}
    for fault in scenario.faults:
        _check_role(fault, groups, scenario)
        if fault.verb == "kill" and fault.every_s and not fault.for_s and fault.role not in parents:
            raise UsageError(
                f"invalid {_typed(fault)}: what was killed is not started again, so it cannot be killed twice",
                expected="a time after which it is started again, such as 'kill ROLE for 5s at 20s every 20s'",
            )
        if preloaded:
            _check_preloaded(fault)
        else:
            _check_moment(fault, load.measured_s)
        if fault.role == NON_RECIPIENT:
            continue
        _check_verb(fault, groups, own_transport=own_transport)
        if fault.verb == "kill" and fault.for_s and fault.role in parents:
            raise UsageError(
                f"invalid {_typed(fault)}: {parents[fault.role]} itself starts {fault.role} again",
                expected=f"kill {fault.role} without a duration, or a kill of {parents[fault.role]}",
            )
        if fault.verb == "kill" and fault.for_s and fault.role in pairs:
            raise UsageError(
                f"invalid {_typed(fault)}: {fault.role} cannot be started again alone",
                expected=f"a kill of {pairs[fault.role]}, which {fault.role} is part of",
                hint=f"--fault {str(replace(fault, role=pairs[fault.role]))!r}",
            )
        if groups[fault.role] == TRANSPORT_GROUP and not preloaded:
            _check_queue(fault, scenario)
    single = [one for fault in scenario.faults for one in fault.occurrences(load.measured_s)]
    for spec in victims:
        of_process = [one for one in single if one.role in spec.roles]
        for first, second in pairwise(sorted(of_process, key=lambda one: one.at_s(load.measured_s))):
            _check_apart(first, second, load.measured_s, comes_back=bool(first.for_s) or first.role in parents)


def _check_role(fault: Fault, groups: Mapping[str, str], scenario: Scenario) -> None:
    if fault.role in groups or fault.role == NON_RECIPIENT:
        return
    if scenario.load.shape == "preloaded" and fault.role in load_roles(scenario):
        raise UsageError(
            f"invalid {_typed(fault)}: preloaded input is there before the engine, so {fault.role} has ended by then",
            expected=f"one of {', '.join(sorted(groups))}",
        )
    # No suggestion: a wrong one would kill another process.
    raise UsageError(
        f"invalid {_typed(fault)}: this run has no process {fault.role!r}",
        expected=f"one of {', '.join(sorted(groups))}",
        hint="streamgauge plan with the same options shows what each process is",
    )


def _check_preloaded(fault: Fault) -> None:
    """How long preloaded input takes is what the run finds out."""
    if fault.unit == "%":
        raise UsageError(
            f"invalid {_typed(fault)}: how long preloaded input takes is not known beforehand",
            expected="seconds after the engine is ready, such as 'at 12s'",
        )
    if fault.every_s:
        raise UsageError(
            f"invalid {_typed(fault)}: how often it would fit is not known beforehand, with preloaded input",
            expected="a fault without `every`, or several of them",
        )


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


def _check_apart(first: Fault, second: Fault, measured_s: float, *, comes_back: bool) -> None:
    if not comes_back or first.at_s(measured_s) + first.for_s >= second.at_s(measured_s):
        raise UsageError(
            f"{_typed(first)} and {_typed(second)} conflict",
            got=None if first.role == second.role else f"{first.role} and {second.role} belong together",
            expected="one after the other, and none after a kill without `for`: what it killed is not started again",
        )


def longest_pause_s(scenario: Scenario, specs: Sequence[ProcessSpec]) -> float:
    """The longest planned time without one of these processes."""
    roles = {role for spec in specs for role in spec.roles}
    return max((_away_s(fault) for fault in scenario.faults if fault.role in roles), default=0.0)


def _away_s(fault: Fault) -> float:
    """How long its process is away; 0 for a kill that is for good."""
    return fault.for_s + RESTART_S if fault.verb == "kill" and fault.for_s else fault.for_s
