"""The files of a run directory as plain JSON, for tests that write invalid content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamgauge.rundir import RunDir
from streamgauge.stored import Stored, write_json


def content(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(path.read_bytes())
    return parsed


def change(path: Path, **changes: Any) -> None:
    """Replace these keys."""
    write_json(path, {**content(path), **changes})


def write_manifest(run: RunDir, manifest: dict[str, Any]) -> None:
    write_json(run.manifest_path, {"format": 1, **manifest})


def as_written(model: Stored) -> dict[str, Any]:
    """The content that a reader of the file would find."""
    written: dict[str, Any] = json.loads(json.dumps(model.as_json()))
    return written
