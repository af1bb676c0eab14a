"""Reads the counters that a HotSpot JVM keeps in a memory-mapped file, without an agent or a tool.

The file is ``hsperfdata_<user>/<pid>`` in /tmp, on macOS in the user's temporary directory; ``java.io.tmpdir`` does not
move it. A JVM started with ``-XX:-UsePerfData`` has none.

Layout: 32 bytes of prologue, then entries: 20 bytes of header, a name that ends with a zero byte, the value.
"""

from __future__ import annotations

import os
import pwd
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

_MAGIC = b"\xca\xfe\xc0\xc0"
_LITTLE_ENDIAN = 1
_PROLOGUE = "4x4B2iq2i"
_ENTRY = "3i4Bi"
_LONG, _BYTES = ord("J"), ord("B")
_MB = 1024 * 1024
_CLOCK_SLACK_S = 2.0


@dataclass(frozen=True)
class HeapAndGc:
    """Heap as last recorded by the JVM (with G1 at each collection), and its collections so far."""

    used_mb: float
    committed_mb: float
    gc_count: int
    gc_ms: float


def heap_and_gc(pid: int) -> HeapAndGc | None:
    """None for a process that is not a JVM of this user or has no counters."""
    path = _path(pid)
    try:
        # A dead JVM may have left its file behind, and its pid may have been reused.
        if path.stat().st_mtime < psutil.Process(pid).create_time() - _CLOCK_SLACK_S:
            return None
        return summarise(parse(path.read_bytes()))
    except (OSError, ValueError, psutil.Error):
        return None


def parse(data: bytes) -> dict[str, int | str]:
    """All counters by name. Raises ValueError for other data, and while the JVM is still starting."""
    if data[:4] != _MAGIC or len(data) < 32:
        raise ValueError("not an hsperfdata file")
    order = "<" if data[4] == _LITTLE_ENDIAN else ">"
    _, major, _, accessible, _, _, _, offset, count = struct.unpack_from(order + _PROLOGUE, data)
    if major != 2:
        raise ValueError(f"hsperfdata version {major}, expected 2")
    if not accessible:
        raise ValueError("the JVM is still starting")
    header, value = struct.Struct(order + _ENTRY), struct.Struct(order + "q")
    counters: dict[str, int | str] = {}
    try:
        for _ in range(count):
            length, name_at, vector_length, kind, _, _, _, data_at = header.unpack_from(data, offset)
            name = data[offset + name_at : data.index(b"\0", offset + name_at)].decode("utf-8", "replace")
            if kind == _LONG and vector_length == 0:
                counters[name] = value.unpack_from(data, offset + data_at)[0]
            elif kind == _BYTES:
                text = data[offset + data_at : offset + data_at + vector_length]
                counters[name] = text.partition(b"\0")[0].decode("utf-8", "replace")
            offset += length
    except struct.error as problem:
        raise ValueError(f"hsperfdata is truncated: {problem}") from None
    return counters


def summarise(counters: dict[str, int | str]) -> HeapAndGc | None:
    """The heap of all generations and the collections of all collectors; None if the JVM counts neither."""
    used = committed = gc_count = gc_ticks = 0
    known = False
    for name, value in counters.items():
        if not name.startswith("sun.gc.") or isinstance(value, str):
            continue
        match name.split(".")[2:]:
            case ["generation", _, "space", _, "used"]:
                used += value
                known = True
            case ["generation", _, "space", _, "capacity"]:
                committed += value
            case ["collector", _, "invocations"]:
                gc_count += value
            case ["collector", _, "time"]:
                gc_ticks += value
    ticks_per_s = counters.get("sun.os.hrt.frequency")
    if not known or not isinstance(ticks_per_s, int) or ticks_per_s <= 0:
        return None
    return HeapAndGc(used / _MB, committed / _MB, gc_count, gc_ticks * 1000 / ticks_per_s)


def _path(pid: int) -> Path:
    root = tempfile.gettempdir() if sys.platform == "darwin" else "/tmp"  # noqa: S108 fixed in the JVM
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = ""  # the JVM of a user without a name writes no counters
    return Path(root) / f"hsperfdata_{user}" / str(pid)
