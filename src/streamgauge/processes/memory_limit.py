"""Limits the memory of a process and its descendants by a control group of Linux, where the system permits it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
WHY_NOT = "this system does not permit control groups to this user"
"""Where ``parent`` is None."""


def parent(mount: Path = MOUNT, own: Path = OWN) -> Path | None:
    """The nearest control group in which this process may make one that limits memory; None if there is none."""
    try:
        lines = [line.split(":", 2) for line in own.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    for _, controllers, path in lines:
        if controllers == "memory":
            return _writable(mount / "memory", path, lambda group: (group / "memory.limit_in_bytes").exists())
    for _, controllers, path in lines:
        if not controllers:
            return _writable(mount, path, _passes_memory_on)
    return None


def _writable(root: Path, path: str, is_usable: Callable[[Path], bool]) -> Path | None:
    group = root / path.lstrip("/")
    while group.is_relative_to(root):
        if is_usable(group) and os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK):
            return group
        if group == root:
            return None
        group = group.parent
    return None


def _passes_memory_on(group: Path) -> bool:
    """Whether groups below it (version 2) may have a limit."""
    try:
        return "memory" in (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False


def limit(group: Path, pid: int, limit_mb: int) -> None:
    """Make the control group, and move the process into it. Raises OSError."""
    group.mkdir(exist_ok=True)
    version_2 = group / "memory.max"
    file = version_2 if version_2.exists() else group / "memory.limit_in_bytes"
    file.write_text(str(limit_mb << 20), encoding="ascii")
    (group / "cgroup.procs").write_text(str(pid), encoding="ascii")


def killed(group: Path) -> bool:
    """Whether the kernel has ended a process because the group's memory was used up."""
    for name in ("memory.events", "memory.oom_control"):
        try:
            words = (group / name).read_text(encoding="ascii").split()
        except OSError:
            continue
        return "oom_kill" in words and int(words[words.index("oom_kill") + 1]) > 0
    return False
