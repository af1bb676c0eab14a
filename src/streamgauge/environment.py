"""The environment of the processes that streamgauge starts: what changes how they run is left out.

A variable that adds options to every JVM, configures another Spark, or puts Python into a debugging mode would change
what is measured, and nobody would see it in the run directory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

# LOG4J_: log4j2 takes each for a setting of its own. SPARK_ and PYSPARK_ choose another Spark, its configuration or
# its Python. Other systems read theirs in shell scripts only, which are not used; the rest is set for each process.
# Those of Python make it slower or let it wait for a terminal; the ones that say where modules are stay.
_REMOVED = re.compile(
    r"_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|LOG4J_\w+|_?(PY)?SPARK_\w+"
    r"|PYTHON(ASYNCIODEBUG|DEBUG|DEVMODE|INSPECT|MALLOC|MALLOCSTATS|OPTIMIZE|PERFSUPPORT|PROFILEIMPORTTIME|STARTUP"
    r"|TRACEMALLOC|VERBOSE|WARNINGS)"
)


def removed(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Names of the variables that are set and that no process of streamgauge gets."""
    return sorted(name for name in environment if _REMOVED.fullmatch(name))


def chosen(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without those, and with a locale in which a JVM can open any path."""
    passed_on = {name: value for name, value in environment.items() if not _REMOVED.fullmatch(name)}
    # In the locale C, which containers have, a JVM finds no file whose path is not ASCII. macOS has no such trouble.
    return {**passed_on, "LC_ALL": "C.UTF-8"} if sys.platform == "linux" else passed_on
