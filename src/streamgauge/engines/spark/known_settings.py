"""Which ``spark.*`` settings the installed Spark knows, so that a misspelt one does not silently do nothing.

Spark itself takes any name without a word, and no list of all names is part of it: each is a constant of the class
that reads it. So the constants of Spark's own classes are looked through, without a JVM and for whatever version is
installed. A library that a user adds may read names of its own, which is why an unknown one is only worth a warning.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from streamgauge.errors import nearest
from streamgauge.jvm.spark import spark_home

MODULES = (
    "core",
    "catalyst",
    "launcher",
    "network-common",
    "kubernetes",
    "yarn",
    "sql-api",
    "hive",
    "streaming",
    "sql",
)
"""Of Spark, those that read settings; the first ones have nearly all of them."""
FAMILIES = (
    *("spark.hadoop.", "spark.hive.", "spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv."),
    *("spark.sql.catalog.", "spark.sql.streaming.stateStore.rocksdb.", "spark.metrics.conf.", "spark.ssl."),
    *("spark.driver.resource.", "spark.executor.resource.", "spark.task.resource.", "spark.yarn.am.resource."),
    *("spark.kubernetes.driver.", "spark.kubernetes.executor.", "spark.kubernetes.node.selector."),
    *("spark.io.encryption.commons.config.", "spark.network.crypto.config.", "spark.shuffle.plugin.__config__."),
    "spark.plugins.internal.conf.",
)
"""Beginnings after which Spark takes a name of the user's."""

_CONSTANT = re.compile(rb"\x01(..)(spark\.[\w.\-]+)", re.DOTALL | re.ASCII)
"""In a class file: tag, length in two bytes, text."""


def unknown(settings: Iterable[str]) -> dict[str, list[str]]:
    """Those that Spark does not know, each with known ones that may have been meant."""
    missing = {name for name in settings if not name.startswith(FAMILIES)}
    known: set[str] = set()
    for jar in _jars() if missing else ():
        known |= _constants(jar)
        missing -= known
        if not missing:
            break
    if not known:
        return {}  # Spark's jars are elsewhere: nothing can be said
    return {name: nearest(name, known) for name in sorted(missing)}


def _jars() -> Iterator[Path]:
    for module in MODULES:
        yield from (spark_home() / "jars").glob(f"spark-{module}_*.jar")


@cache
def _constants(jar: Path) -> frozenset[str]:
    names = set()
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith(".class"):
                for length, text in _CONSTANT.findall(archive.read(entry)):
                    names.add(text[: int.from_bytes(length)].decode("ascii"))
    return frozenset(names)
