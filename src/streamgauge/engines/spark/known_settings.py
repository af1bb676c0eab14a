"""Finds ``spark.*`` settings that the installed Spark does not know, such as misspelt ones.

Spark silently accepts any name, and has no list of all settings: each name is a string constant of the class that reads
it. So this searches the constants of Spark's classes, which needs no JVM and fits the installed version. Libraries may
read settings of their own, so an unknown name is a warning and not an error.
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
"""Spark's modules that read settings; the first ones read nearly all of them."""
FAMILIES = (
    *("spark.hadoop.", "spark.hive.", "spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv."),
    *("spark.sql.catalog.", "spark.sql.streaming.stateStore.rocksdb.", "spark.metrics.conf.", "spark.ssl."),
    *("spark.driver.resource.", "spark.executor.resource.", "spark.task.resource.", "spark.yarn.am.resource."),
    *("spark.kubernetes.driver.", "spark.kubernetes.executor.", "spark.kubernetes.node.selector."),
    *("spark.io.encryption.commons.config.", "spark.network.crypto.config.", "spark.shuffle.plugin.__config__."),
    "spark.plugins.internal.conf.",
)
"""Prefixes of settings whose last part the user chooses."""

_CONSTANT = re.compile(rb"\x01(..)(spark\.[\w.\-]+)", re.DOTALL | re.ASCII)
"""A string constant in a class file: tag, two bytes of length, text."""


def unknown(settings: Iterable[str]) -> dict[str, list[str]]:
    """The unknown settings, each with similar known ones."""
    missing = {name for name in settings if not name.startswith(FAMILIES)}
    known: set[str] = set()
    for jar in _jars() if missing else ():
        known |= _constants(jar)
        missing -= known
        if not missing:
            break
    if not known:
        return {}  # Spark's jars are not where pyspark has them: cannot judge
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
