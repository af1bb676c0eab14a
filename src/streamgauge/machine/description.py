"""Describes the machine of a run, as far as it affects the result. Container limits are respected."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from streamgauge.model.manifest import MachineDescription

_MB = 1024 * 1024
_CGROUP_ROOT = Path("/sys/fs/cgroup")


def describe() -> MachineDescription:
    """The manifest's ``machine``."""
    return MachineDescription(
        system=platform.system(),
        kernel=platform.release(),
        cpu=_cpu_model(),
        governor=governor(),
        cores=usable_cores(),
        memory_mb=memory_mb(),
        container=container(),
        load_at_start=round(os.getloadavg()[0], 2),
    )


def is_busy(machine: MachineDescription) -> bool:
    """Whether more work was waiting for its cores than they can do at a time."""
    return None not in (machine.load_at_start, machine.cores) and (machine.load_at_start or 0) > (machine.cores or 0)


def governor(root: Path = Path("/sys/devices/system/cpu")) -> str | None:
    """The CPU frequency governor; None if unknown."""
    governors = set()
    for file in root.glob("cpu[0-9]*/cpufreq/scaling_governor"):
        with contextlib.suppress(OSError, ValueError):
            governors.add(file.read_text(encoding="ascii").strip())
    return ", ".join(sorted(governors)) or None


def container(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> str | None:
    """The kind of container that this process runs in; None if none is detected."""
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "kubernetes"
    for name, file in (("docker", ".dockerenv"), ("podman", "run/.containerenv")):
        if (root / file).exists():
            return name
    # The first process usually has the kind in its environment or in the name of its control group.
    variables = _text(root / "proc/1/environ").split("\0")
    hints = [variable for variable in variables if variable.startswith("container=")]
    hints += [_text(root / "run/systemd/container"), _text(root / "proc/1/cgroup")]
    known = {"kubepods": "kubernetes", "docker": "docker", "libpod": "podman", "podman": "podman", "lxc": "lxc"}
    return next((name for word, name in known.items() for hint in hints if word in hint), None)


def _text(path: Path) -> str:
    """Empty if the file does not exist or cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def usable_cores() -> int:
    """Usable cores, by affinity and the container's quota (rounded up, as in the JVM)."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    quotas = [quota for group in _cgroups() if (quota := _cpu_quota(group)) is not None]
    return min([cores, *map(math.ceil, quotas)])


def memory_mb() -> int:
    """Memory of the machine, or the container's limit."""
    limits = [limit for group in _cgroups() if (limit := _number(group / "memory.max")) is not None]
    return min([psutil.virtual_memory().total, *limits]) // _MB


def available_memory_mb() -> int:
    """Memory available to new processes without swapping."""
    rooms = [room for group in _cgroups() if (room := _memory_room(group)) is not None]
    return max(0, min([psutil.virtual_memory().available, *rooms])) // _MB


def free_disk_mb(path: Path) -> int:
    """Free disk space for this user at ``path``, which need not exist yet."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free // 1_000_000


def _cgroups() -> Iterator[Path]:
    """The control groups (version 2) of this process, innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("0::/"):
            group = _CGROUP_ROOT / line.removeprefix("0::/")
            while group.is_relative_to(_CGROUP_ROOT):
                yield group
                group = group.parent


def _cpu_quota(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _memory_room(group: Path) -> int | None:
    limit, used = _number(group / "memory.max"), _number(group / "memory.current")
    if limit is None or used is None:
        return None
    return limit - used + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """File pages that the kernel reclaims before it refuses memory."""
    try:
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def _number(path: Path) -> int | None:
    """None for ``max`` (no limit) or a missing file."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _cpu_model() -> str:
    if sys.platform == "darwin":
        sysctl = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        model = subprocess.run(sysctl, capture_output=True, text=True, check=False).stdout.strip()
        return model or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
