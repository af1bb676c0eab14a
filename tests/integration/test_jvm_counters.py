"""Heap and collections of a real JVM, read from outside, under each collector."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from streamgauge.jvm.hsperf import heap_and_gc

java = shutil.which("java")
pytestmark = pytest.mark.skipif(java is None, reason="needs java on the PATH")

PROGRAM = """
import java.util.ArrayList;
public class Fill {
    public static void main(String[] args) throws Exception {
        ArrayList<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 40; i++) kept.add(new byte[1 << 20]);
        System.gc();
        System.out.println("ready");
        System.in.read();
        System.gc();
        System.out.println(kept.size());
        System.in.read();
    }
}
"""


@pytest.mark.parametrize(
    "collector", ["UseG1GC", *(pytest.param(name, marks=pytest.mark.full) for name in ("UseSerialGC", "UseParallelGC"))]
)
def test_heap_and_collections(collector, tmp_path):
    source = tmp_path / "Fill.java"
    source.write_text(PROGRAM)
    argv = [java, f"-XX:+{collector}", "-Xmx256m", str(source)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as jvm:
        try:
            assert jvm.stdout.readline() == b"ready\n"
            first = heap_and_gc(jvm.pid)
            jvm.stdin.write(b"\n")
            assert jvm.stdout.readline() == b"40\n"
            second = heap_and_gc(jvm.pid)
        finally:
            jvm.kill()
    assert 40 <= first.used_mb <= first.committed_mb <= 257, "G1 counts a few bytes too many"
    assert first.gc_count >= 1
    assert first.gc_ms > 0
    assert second.gc_count > first.gc_count
    assert second.gc_ms > first.gc_ms
