"""Python loads this before a user's script, which does not know about it.

``STREAMGAUGE_SHIM`` names a directory: ``shim.json`` there says what to redirect, ``events.jsonl`` receives what was
done. Without the variable nothing happens; in Spark's own Python workers only connections are fenced.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys


def load_users_own():
    """This file hides a sitecustomize of the user's."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [one for one in sys.path if os.path.abspath(one or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def is_worker():
    """Whether this is one of Spark's own Python processes."""
    arguments = " ".join(getattr(sys, "orig_argv", []))
    if not arguments and os.path.exists("/proc/self/cmdline"):  # before Python 3.10
        with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
            arguments = file.read()
    return "pyspark.daemon" in arguments or "pyspark.worker" in arguments


if os.path.exists(os.path.join(os.environ.get("STREAMGAUGE_SHIM", ""), "shim.json")):
    from streamgauge_shim import hooks

    hooks.install_fence() if is_worker() else hooks.install()
load_users_own()
