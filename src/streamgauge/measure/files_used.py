"""The files of the user's that a run depends on, with their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.model import Scenario
from streamgauge.model.manifest import FileUsed


def data_files(scenario: Scenario) -> list[FileUsed]:
    """What the load reads. Raises UsageError for a file that cannot be read."""
    return [_used(path) for path in registry.workload(scenario.workload).files(scenario.parameters)]


def program_files(scenario: Scenario, program: Sequence[str]) -> list[FileUsed]:
    """What the engine runs. Raises UsageError for a file that cannot be read."""
    return [_used(path) for path in registry.engine(scenario.engine).files(program)]


def check_unchanged(checksums: Iterable[tuple[str, str]]) -> None:
    """Raises UsageError for the first path whose SHA-256 is not what it was."""
    for path, before in checksums:
        now = _used(Path(path))
        if now.sha256 != before:
            raise UsageError(
                "the file was changed since the run",
                where=path,
                got=f"sha256 {now.sha256}",
                expected=before,
                hint="streamgauge run with it, and compare that run",
            )


def _used(path: Path) -> FileUsed:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return FileUsed(path=str(path), bytes=file.tell(), sha256=digest)
    except OSError as problem:
        raise UsageError("a file cannot be read", where=path, got=str(problem.strerror)) from None
