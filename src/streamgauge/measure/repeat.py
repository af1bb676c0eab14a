"""A run once more: from what its manifest holds, whatever has become of defaults and scenario files."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.identity import DERIVED, NOT_IN_MANIFEST
from streamgauge.measure.files_used import check_unchanged
from streamgauge.measure.plan import Request
from streamgauge.model import Scenario
from streamgauge.model.manifest import Manifest
from streamgauge.redaction import is_redacted
from streamgauge.rundir import RunDir


def request_of(run: RunDir, out: Path) -> Request:
    """The request that the run was made with, for another directory. The port of our own transport is any free one.

    Raises UsageError when the manifest does not hold all of it (secrets; the program, if an earlier version wrote it),
    when this version does not take a value, or when the script or another file was changed since.
    """
    manifest = run.manifest()
    engine, program = manifest.engine, manifest.program
    master, load_master = manifest.evaluator.master, manifest.load.master
    if is_redacted(json.dumps([dict(engine.options), program, master, load_master])):
        raise UsageError(
            "the run cannot be repeated: its secrets are not in the run directory",
            where=run.manifest_path,
            hint="streamgauge run --runs 5 with the true values, for each side; then compare the two without --run",
        )
    if program is None and registry.engine(engine.name).traits.needs_program:
        raise UsageError(
            "the run cannot be repeated: its manifest is of an earlier version, which did not keep the program",
            where=run.manifest_path,
            hint="streamgauge run with the program, for each side; then compare the two without --run",
        )
    scenario = scenario_of(manifest, run.manifest_path)
    check_unchanged((used.path, used.sha256) for used in manifest.files)
    if scenario.script is not None:
        check_unchanged([(scenario.script.path, scenario.script.sha256)])
    described = manifest.transport
    transport = registry.transport(described.name).attach(described.as_json())
    return Request(
        scenario=scenario,
        out=out,
        transport_address=None if described.own else transport.address,
        master=master,
        program=tuple(program or ()),
        load_master=load_master,
    )


def scenario_of(manifest: Manifest, where: Path) -> Scenario:
    """The scenario of a manifest. Raises UsageError naming what this version does not take."""
    engine = registry.engine(manifest.engine.name)
    described = {name: value for name, value in manifest.scenario.as_json().items() if name not in DERIVED}
    known = {field.name for field in fields(Scenario)} - {*NOT_IN_MANIFEST}
    if unknown := described.keys() - known:
        raise _unusable(where, f"unknown: {', '.join(sorted(unknown))}")
    load = asdict(manifest.scenario.load.plan())
    try:
        options = engine.options.model_validate_json(json.dumps(dict(manifest.engine.options))).model_dump()
        content = {**described, "load": load, "engine": engine.name, "engine_options": options}
        return TypeAdapter(Scenario).validate_json(json.dumps(content), strict=True)
    except ValidationError as problem:
        lines = (f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors())
        raise _unusable(where, "; ".join(lines)) from None


def _unusable(where: Path, got: str) -> UsageError:
    return UsageError(
        "the run cannot be repeated: this version does not accept all values of its scenario",
        where=where,
        got=got,
        hint="streamgauge run again, and compare that run",
    )
