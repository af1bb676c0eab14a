"""The parser of a JVM's counter file, on handmade files in both byte orders."""

from __future__ import annotations

import os
import struct

import pytest

from streamgauge.jvm import hsperf

MB = 2**20
COUNTERS: dict[str, int | str] = {
    "java.property.java.version": "17.0.15",
    "sun.os.hrt.frequency": 1_000_000_000,
    "sun.gc.generation.0.space.0.used": 3 * MB,
    "sun.gc.generation.0.space.1.used": 1 * MB,
    "sun.gc.generation.1.space.0.used": 10 * MB,
    "sun.gc.generation.0.space.0.capacity": 6 * MB,
    "sun.gc.generation.0.space.1.capacity": 2 * MB,
    "sun.gc.generation.1.space.0.capacity": 24 * MB,
    "sun.gc.generation.0.capacity": 99 * MB,
    "sun.gc.metaspace.used": 77 * MB,
    "sun.gc.collector.0.invocations": 4,
    "sun.gc.collector.1.invocations": 1,
    "sun.gc.collector.0.time": 30_000_000,
    "sun.gc.collector.1.time": 12_500_000,
}


def counter_file(counters: dict[str, int | str], order: str = "<", accessible: int = 1, major: int = 2) -> bytes:
    entries = b""
    for name, value in counters.items():
        name_bytes = name.encode() + b"\0"
        name_bytes += b"\0" * (-len(name_bytes) % 8 + 4)  # the value starts at a multiple of 8
        data_at = 20 + len(name_bytes)
        if isinstance(value, str):
            text = value.encode() + b"\0\0\0"
            kind, vector_length, data = ord("B"), len(text), text + b"\0" * (-len(text) % 8)
        else:
            kind, vector_length, data = ord("J"), 0, struct.pack(order + "q", value)
        header = (data_at + len(data), 20, vector_length, kind, 0, 1, 2, data_at)
        entries += struct.pack(order + "3i4Bi", *header) + name_bytes + data
    prologue = b"\xca\xfe\xc0\xc0" + bytes([order == "<", major, 0, accessible])
    return prologue + struct.pack(order + "2iq2i", 32 + len(entries), 0, 0, 32, len(counters)) + entries


@pytest.mark.parametrize("order", ["<", ">"])
def test_counters_are_read(order):
    assert hsperf.parse(counter_file(COUNTERS, order)) == COUNTERS


def test_heap_and_collections_are_added_up():
    figures = hsperf.summarise(COUNTERS)
    assert figures == hsperf.HeapAndGc(used_mb=14.0, committed_mb=32.0, gc_count=5, gc_ms=42.5)


@pytest.mark.parametrize("missing", ["sun.os.hrt.frequency", "used"])
def test_jvm_without_these_counters_has_no_figures(missing):
    assert hsperf.summarise({name: value for name, value in COUNTERS.items() if not name.endswith(missing)}) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xca\xfe\xc0\xc0",
        b"x" * 64,
        counter_file(COUNTERS, accessible=0),
        counter_file(COUNTERS, major=1),
        counter_file(COUNTERS)[:200],
        counter_file(COUNTERS)[:60],
    ],
)
def test_other_data_is_refused(data):
    with pytest.raises(ValueError):
        hsperf.parse(data)


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    path = tmp_path / "counters"
    path.write_bytes(counter_file(COUNTERS))
    monkeypatch.setattr(hsperf, "_path", lambda pid: path)
    return path


def test_file_of_a_living_process_is_read(own_file):
    assert hsperf.heap_and_gc(os.getpid()).gc_count == 5


def test_file_that_a_dead_jvm_left_behind_is_not_read(own_file):
    os.utime(own_file, (1e9, 1e9))
    assert hsperf.heap_and_gc(os.getpid()) is None


def test_process_that_is_not_a_jvm():
    assert hsperf.heap_and_gc(os.getpid()) is None
