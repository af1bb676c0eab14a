"""Samples what processes and machine use. Made to be cheap: it runs beside what is measured."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from streamgauge.jvm.hsperf import heap_and_gc
from streamgauge.measure.network import Network
from streamgauge.model.samples import MachineSample, ResourceSample
from streamgauge.processes import proctable
from streamgauge.processes.members import Members
from streamgauge.processes.process import Running
from streamgauge.processes.proctable import Identity, Stat


class Sampler:
    """Samples the processes of a run by role, each with all processes of its session."""

    def __init__(self, processes: Callable[[], list[Running]]) -> None:
        self._processes = processes
        self.cores: dict[str, frozenset[int]] = {}
        """The cores that the processes of each group might use in any sample; those that only watch are left out."""
        self.lost: list[tuple[int, str]] = []
        """When the process of a member's role was seen to have ended, and the role."""
        self.network = Network()
        self._members = Members()
        self._leaders: dict[int, Identity] = {}
        self._strangers: set[int] = set()
        self._sampled: dict[str, set[Identity]] = {}
        """The processes of each role in the last sample."""
        self._cpu_s: dict[str, float] = defaultdict(float)
        self._ended_cpu_s: dict[str, float] = defaultdict(float)

    def sample(self, t_ns: int) -> list[ResourceSample]:
        """One line of ``resources.jsonl`` per role of the run."""
        connections = self.network.look()
        running = self._processes()
        sessions = self._sessions({process.pid: process.identity for process in running})
        sorted_ = {process.role: self._members.sort(process.spec, sessions[process.pid]) for process in running}
        carried = self.network.sample(
            connections,
            {
                role: [stat.identity.pid for stat in stats]
                for by_role in sorted_.values()
                for role, stats in by_role.items()
            },
        )
        samples: list[ResourceSample] = []
        for process in running:
            if not process.spec.watches:
                allowed = [proctable.cores(stat.identity.pid) for stat in sessions[process.pid]]
                self.cores[process.group] = self.cores.get(process.group, frozenset()).union(*allowed)
            for role, stats in sorted_[process.role].items():
                self._note_lost(t_ns, role, stats)
                # Of a process with members, reaped children are left out: they have been counted under their own role.
                own = role == process.role and process.spec.members
                cpu_s = sum(stat.own_cpu_s if own else stat.cpu_s for stat in stats)
                samples.append(
                    ResourceSample(
                        t_ns=t_ns,
                        role=role,
                        group=process.group,
                        cpu_s=self._cpu_so_far_s(role, cpu_s),
                        rss_mb=round(sum(stat.rss_mb for stat in stats), 1),
                        **_heap(stats),
                        **carried[role],
                    )
                )
        return samples

    def _note_lost(self, t_ns: int, role: str, processes: list[Stat]) -> None:
        """What a lost member had used is kept, even if the one in its place has used more since."""
        leaders = self._members.leaders[role]
        ended = leaders - {stat.identity for stat in processes if not stat.zombie}
        if ended:
            left_s = sum(stat.cpu_s for stat in processes if stat.identity in self._sampled[role])
            self._ended_cpu_s[role] = max(self._cpu_s[role] - left_s, self._ended_cpu_s[role])
            self.lost += [(t_ns, role)] * len(ended)
            leaders -= ended
        self._sampled[role] = {stat.identity for stat in processes}

    def _sessions(self, leaders: dict[int, Identity]) -> dict[int, list[Stat]]:
        """The processes of each session. One that belongs to none is not looked at again."""
        if leaders != self._leaders:
            self._leaders = leaders
            self._strangers.clear()
        sessions: dict[int, list[Stat]] = defaultdict(list)
        pids = set(proctable.pids())
        self._strangers &= pids
        for pid in pids - self._strangers:
            stat = proctable.read(pid)
            leader = leaders.get(stat.session) if stat else None
            if stat and leader and stat.identity.started >= leader.started:
                sessions[leader.pid].append(stat)
            else:
                self._strangers.add(pid)
        return sessions

    def _cpu_so_far_s(self, role: str, living_s: float) -> float:
        """Never falls: what a process had used is kept when it ends and no parent accounts for it."""
        before_s = self._cpu_s[role]
        self._ended_cpu_s[role] += max(0.0, before_s - self._ended_cpu_s[role] - living_s)
        self._cpu_s[role] = max(before_s, self._ended_cpu_s[role] + living_s)
        return round(self._cpu_s[role], 3)


class MachineSampler:
    """Samples the whole machine; shares are of the time since the sample before."""

    def __init__(self) -> None:
        self._last = _MachineTimes()

    def sample(self, t_ns: int) -> MachineSample:
        """One line of ``machine.jsonl``."""
        last, self._last = self._last, _MachineTimes()
        now = self._last
        all_s = now.all_s - last.all_s
        return MachineSample(
            t_ns=t_ns,
            load1=round(os.getloadavg()[0], 2),
            cpu_busy=_share(all_s - (now.idle_s - last.idle_s), all_s),
            steal=_share(_difference(now.steal_s, last.steal_s), all_s),
            **{
                f"psi_{what}_some": _share(_difference(stalled_s, last.stalled_s[what]), now.t_s - last.t_s)
                for what, stalled_s in now.stalled_s.items()
            },
        )


class _MachineTimes:
    """Seconds since the start of the machine, summed over its cores; stalled time is not."""

    def __init__(self) -> None:
        cpu = psutil.cpu_times()
        # Guests' time is contained in user and nice.
        self.all_s = sum(cpu) - getattr(cpu, "guest", 0.0) - getattr(cpu, "guest_nice", 0.0)
        self.idle_s = cpu.idle + getattr(cpu, "iowait", 0.0)
        self.steal_s: float | None = getattr(cpu, "steal", None)
        self.stalled_s = {what: _stalled_s(what) for what in ("cpu", "io", "memory")}
        self.t_s = time.monotonic()


def _heap(members: Iterable[Stat]) -> dict[str, float | int | None]:
    heaps = [heap for stat in members if not stat.zombie and (heap := heap_and_gc(stat.identity.pid))]
    if not heaps:
        return {"heap_used_mb": None, "heap_committed_mb": None, "gc_count": None, "gc_ms": None}
    return {
        "heap_used_mb": round(sum(heap.used_mb for heap in heaps), 1),
        "heap_committed_mb": round(sum(heap.committed_mb for heap in heaps), 1),
        "gc_count": sum(heap.gc_count for heap in heaps),
        "gc_ms": round(sum(heap.gc_ms for heap in heaps), 1),
    }


def _stalled_s(what: str) -> float | None:
    """How long some task has waited for the resource (PSI); None where the system does not report it."""
    try:
        line = Path(f"/proc/pressure/{what}").read_text(encoding="ascii").splitlines()[0]
        return int(line.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError, IndexError):
        return None


def _difference(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before


def _share(part: float | None, whole: float) -> float | None:
    if part is None or whole <= 0:
        return None
    return round(min(max(part / whole, 0.0), 1.0), 4)


_machine = MachineSampler()


def machine_sample(t_ns: int) -> MachineSample:
    """One line of ``machine.jsonl``, its shares since the call before."""
    return _machine.sample(t_ns)
