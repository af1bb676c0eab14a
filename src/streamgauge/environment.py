"""The environment of the processes that streamgauge starts, without variables that change how they run.

A variable that adds options to every JVM, configures another Spark, or puts Python into a debug mode would change what
is measured without leaving a trace in the run directory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

# log4j2 treats every LOG4J_ variable as a setting. SPARK_ and PYSPARK_ select another Spark, its configuration or its
# Python. Other systems read their variables only in shell scripts, which are not used; the rest is set per process.
# Those of Python make it slower or let it wait for a terminal; the ones with module paths are kept.
_REMOVED = re.compile(
    r"_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|LOG4J_\w+|_?(PY)?SPARK_\w+"
    r"|PYTHON(ASYNCIODEBUG|DEBUG|DEVMODE|INSPECT|MALLOC|MALLOCSTATS|OPTIMIZE|PERFSUPPORT|PROFILEIMPORTTIME|STARTUP"
    r"|TRACEMALLOC|VERBOSE|WARNINGS)"
)


def removed(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Names of the variables that are set and removed."""
    return sorted(name for name in environment if _REMOVED.fullmatch(name))


def chosen(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without them, and with a locale in which a JVM can open any path."""
    passed_on = {name: value for name, value in environment.items() if not _REMOVED.fullmatch(name)}
    # With locale C, common in containers, a JVM cannot open paths that are not ASCII. macOS is not affected.
    return {**passed_on, "LC_ALL": "C.UTF-8"} if sys.platform == "linux" else passed_on
