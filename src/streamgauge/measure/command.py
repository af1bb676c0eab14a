"""The command that repeats a run: every value pinned, every secret left out."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from streamgauge.redaction import redact_arguments, redact_options
from streamgauge.studies.pinned import pinned

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request


def repeating(request: Request) -> str:
    """`streamgauge run …`, which resolves to the same scenario also after a change of defaults."""
    scenario = request.scenario
    safe = replace(scenario, engine_options=redact_options(scenario.engine_options))
    words = ["streamgauge", "run", f"{scenario.study}/{scenario.name}"]
    words += ["--engine", scenario.engine, "--profile", scenario.profile]
    # The port can be set only for what this run starts.
    unused = {"broker_port"} if request.transport_address else set()
    for key, value in pinned(safe).items():
        words += [] if key in unused else ["--set", f"{key}={value}"]
    for condition in scenario.slo:
        words += ["--slo", condition]
    for fault in scenario.faults:
        words += ["--fault", str(fault)]
    words += ["--script", scenario.script.path] if scenario.script else []
    words += ["--bootstrap", request.transport_address] if request.transport_address else []
    words += redact_arguments(["--evaluator-master", request.master])
    words += redact_arguments(["--load-master", request.load_master]) if request.load_master else []
    words += ["--", *redact_arguments(request.program)] if request.program else []
    return shlex.join(words)
