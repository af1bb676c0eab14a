"""Roles of processes that streamgauge did not start itself: descendants of one that it did."""

from __future__ import annotations

import contextlib
import glob
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from streamgauge.model import ProcessSpec
from streamgauge.processes import proctable
from streamgauge.processes.proctable import Identity, Stat

_KEPT_LOG_BYTES = 1024 * 1024


class Members:
    """Sorts the processes of a session by role. A process keeps its role when its parent ends."""

    def __init__(self) -> None:
        self.leaders: dict[str, set[Identity]] = defaultdict(set)
        """The processes seen in each member's role that are not children of another process of that role."""
        self._roles: dict[Identity, str] = {}

    def sort(self, spec: ProcessSpec, processes: Iterable[Stat]) -> dict[str, list[Stat]]:
        """The processes of its session, by each of its roles. A process of a member is not one of ``spec.role``."""
        by_pid = {stat.identity.pid: stat for stat in processes}
        sorted_: dict[str, list[Stat]] = {role: [] for role in spec.own_roles}
        for stat in by_pid.values():
            sorted_[self._role(spec, stat, by_pid) or spec.role].append(stat)
        return sorted_

    def _role(self, spec: ProcessSpec, stat: Stat, by_pid: dict[int, Stat]) -> str | None:
        """None if it is not a member. That is not remembered: a process gets its command line after its start."""
        if not spec.members or stat.identity in self._roles:
            return self._roles.get(stat.identity)
        parent = by_pid.get(stat.parent)
        role = self._role(spec, parent, by_pid) if parent else None
        if role is None:
            given = set(proctable.arguments(stat.identity.pid))
            role = next((member.role for member in spec.members if member.argument in given), None)
            if role is None:
                return None
            self.leaders[role].add(stat.identity)
        self._roles[stat.identity] = role
        return role


def choose(spec: ProcessSpec, role: str, processes: Iterable[Identity]) -> set[Identity]:
    """Those of the processes of its session that now have the role."""
    stats = [stat for process in processes if (stat := proctable.read(process.pid)) and stat.identity == process]
    return {stat.identity for stat in Members().sort(spec, stats)[role]}


def keep_logs(spec: ProcessSpec, folder: Path) -> None:
    """Append the end of each file that a member wrote to the log of its role."""
    for member in spec.members:
        for name in sorted(glob.glob(member.logs)) if member.logs else ():  # noqa: PTH207 the pattern is absolute
            with contextlib.suppress(OSError), Path(name).open("rb") as source:
                source.seek(max(Path(name).stat().st_size - _KEPT_LOG_BYTES, 0))
                if content := source.read():
                    with (folder / f"{member.role}.log").open("ab") as log:
                        log.write(content)
