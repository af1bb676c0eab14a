"""What a role means among the processes that were started, which are given in start order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamgauge.processes import members, reaping
from streamgauge.processes.process import Running
from streamgauge.processes.proctable import Identity


def latest(started: Iterable[Running], role: str) -> list[Running]:
    """The latest process of each specification that has this role, in start order of the specifications."""
    return _latest(one for one in started if role in (one.role, one.spec.part_of))


def identities(started: Sequence[Running], role: str) -> set[Identity]:
    """All live processes of a role: started ones with their descendants, or those of a member; may be none."""
    if named := latest(started, role):
        return reaping.find([running.identity for running in named], {running.token for running in named})
    for running in reversed(started):
        if role in running.spec.own_roles:
            return members.choose(running.spec, role, reaping.find([running.identity], {running.token}))
    return set()


def lives(started: Sequence[Running], role: str) -> bool:
    """Whether a process of the role is alive. Cheaper than ``identities``, unless it is one of a member."""
    if named := latest(started, role):
        return any(running.exit_code is None for running in named)
    return bool(identities(started, role))


def is_usable(started: Iterable[Running], role: str) -> bool:
    """Whether none of its processes is still starting; of a member, whether its parent is not.

    Processes that are parts of one role are usable together: Spark's JVM is of no use before its program.
    """
    current = _latest(started)
    wholes = {_whole(running) for running in current if role in running.spec.roles}
    return all(running.usable for running in current if _whole(running) in wholes)


def overlapping(started: Iterable[Running], role: str) -> set[str]:
    """The roles that have a process in common with this one, which is among them: what acts on one acts on both."""
    return {other for running in started if role in running.spec.roles for other in running.spec.roles}


def _latest(started: Iterable[Running]) -> list[Running]:
    return list({running.role: running for running in started}.values())


def _whole(running: Running) -> str:
    return running.spec.part_of or running.role
