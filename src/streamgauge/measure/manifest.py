"""The manifest of a run: what was asked for, what it runs on, and the command that repeats it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

from streamgauge import __version__, environment, identity, jars, registry
from streamgauge.jvm.java import find_java
from streamgauge.machine import calibration, provenance
from streamgauge.machine import description as machine
from streamgauge.measure.files_used import data_files, program_files
from streamgauge.measure.plan import RunPlan, needed_jar_groups
from streamgauge.model.manifest import FORMAT, Manifest, StreamDescription
from streamgauge.notices import Notice
from streamgauge.redaction import redact_arguments, redact_options


def describe(plan: RunPlan, warnings: Sequence[Notice] = ()) -> Manifest:
    """``warnings`` are those of the summary that are known before the run."""
    scenario = plan.request.scenario
    engine = registry.engine(scenario.engine)
    versions, calibrated = engine.versions_with(scenario.engine_options), calibration.read()
    groups = needed_jar_groups(scenario, own_transport=plan.transport.own)
    content = {
        "format": FORMAT,
        "run": plan.run,
        "tool": __version__,
        "scenario": identity.describe(scenario),
        "engine": {
            "name": engine.name,
            "title": engine.title,
            "version": next(iter(versions.values())),
            "versions": dict(versions),
            "delivery": engine.traits.delivery_with(scenario.engine_options),
            "transactional": engine.traits.is_transactional(scenario.engine_options),
            "recounts_after_failure": engine.traits.recounts_with(scenario.engine_options),
            "batch_interval_s": engine.batch_interval_s(scenario.engine_options),
            "consumed_delay_s": engine.consumed_delay_s(scenario.engine_options),
            "micro_batches": engine.micro_batches(scenario.engine_options),
            "keeps_order": engine.keeps_order(scenario.engine_options),
            "options": redact_options(scenario.engine_options),
        },
        "transport": plan.transport.describe(),
        "streams": [StreamDescription.of(stream).as_json() for stream in plan.streams],
        "versions": {
            "streamgauge": __version__,
            "python": platform.python_version(),
            "java": find_java().version,
            **plan.transport.client_versions(),
            "pyspark": version("pyspark"),
            "jars": {group: jars.versions(group) for group in groups},
        },
        "provenance": provenance.describe(),
        "machine": machine.describe(),
        # Kept with the run: evaluating it again on another day or machine must mark the same figures.
        "calibration": None if calibrated is None else calibrated.as_json(),
        "processes": [
            {
                "role": spec.role,
                "group": spec.group,
                "argv": redact_arguments(spec.argv),
                "members": [member.role for member in spec.members],
                "node": spec.node,
            }
            for spec in plan.processes
        ],
        # Names alone: a value may be a secret.
        "environment": {"removed": environment.removed()},
        "files": [*data_files(scenario), *program_files(scenario, plan.request.program)],
        "notes": dict(engine.notes(plan.job)),
        "warnings": list(warnings),
        "program": redact_arguments(plan.request.program),
        "evaluator": {"master": redact_options({"master": plan.request.master})["master"]},
        "load": {"master": redact_options({"master": plan.request.load_master})["master"]},
        # For people; a run is repeated from the values above.
        "command": plan.request.command,
    }
    return Manifest.model_validate(content)
