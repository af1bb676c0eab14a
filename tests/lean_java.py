"""A Java that starts sooner, for tests, whose JVMs live for seconds."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from streamgauge.jvm.java import find_java


@contextmanager
def lean_java(home: Path) -> Iterator[None]:
    """Every JVM that streamgauge starts is one without the optimizing compiler, which would take much of the CPU.

    It also yields to the load worker, which would be late while two engines start side by side. The results are the
    same. ``home`` becomes the Java home of that JVM.
    """
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\nexec nice -n 10 {shlex.quote(str(find_java().path))} -XX:TieredStopAtLevel=1 "$@"\n')
    java.chmod(0o700)
    with mock.patch.dict(os.environ, STREAMGAUGE_JAVA=str(java)):
        find_java.cache_clear()
        yield
    find_java.cache_clear()
