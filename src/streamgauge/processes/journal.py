"""The journal of one run: what was started, so that it can be ended even if the run itself is dead.

One JSON object per line: the header (run, host, boot, namespace, the processes of the command line and its guardian),
then ``work_dir`` for each directory, ``intent`` before each start and ``started`` after it, ``guardian`` for a
replacement guardian.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge import dirs
from streamgauge.processes import proctable
from streamgauge.processes.proctable import Identity


def journal_dir() -> Path:
    return dirs.state_dir() / "journal"


def journals() -> list[Path]:
    """All journals, oldest name first."""
    return sorted(journal_dir().glob("*.jsonl"))


class Journal:
    """Writes one journal; each line is on disk before the call returns. Raises OSError."""

    def __init__(self, path: Path, run: str, guardian: Identity) -> None:
        """Create it together with its header, so that no reader ever sees a journal without one."""
        own = proctable.identity(os.getpid())
        assert own is not None
        self.path = path
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        self._handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            self._append(
                {
                    "run": run,
                    "host": platform.node(),
                    "boot": proctable.boot(),
                    "namespace": proctable.namespace(),
                    "cli": _as_json(own),
                    "guardian": _as_json(guardian),
                }
            )
            os.link(part, path)
        except BaseException:
            os.close(self._handle)
            raise
        finally:
            part.unlink()

    def work_dir(self, path: Path) -> None:
        self._append({"work_dir": str(path)})

    def intent(self, role: str, token: str) -> None:
        self._append({"intent": role, "token": token})

    def started(self, role: str, process: Identity) -> None:
        self._append({"started": role, **_as_json(process)})

    def guardian(self, process: Identity) -> None:
        self._append({"guardian": _as_json(process)})

    def remove(self) -> None:
        """Remove it after a clean exit: nothing is left to end."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._handle)

    def _append(self, line: dict[str, Any]) -> None:
        # With a newline before it too: after a line truncated by a full disk, the next one stays readable.
        data = b"\n" + json.dumps(line).encode() + b"\n"
        if os.write(self._handle, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        os.fsync(self._handle)


@dataclass
class Record:
    """The content of a journal."""

    run: str
    host: str
    boot: str
    cli: Identity
    guardian: Identity
    namespace: str = ""
    """The PID namespace; empty if unknown (other systems, older journals)."""
    work_dirs: list[Path] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    leaders: list[Identity] = field(default_factory=list)


def read_journal(path: Path) -> Record | None:
    """None if the journal does not exist or has no header. Lines that are truncated or not understood are skipped."""
    try:
        header, *rest = _lines(path)
        record = Record(
            header["run"],
            header["host"],
            header["boot"],
            _as_identity(header["cli"]),
            _as_identity(header["guardian"]),
            header.get("namespace", ""),
        )
    except (ValueError, KeyError, TypeError):
        return None
    for line in filter(lambda line: isinstance(line, dict), rest):
        with contextlib.suppress(KeyError, TypeError):
            _take_in(record, line)
    return record


def _take_in(record: Record, line: dict[str, Any]) -> None:
    """Raises KeyError or TypeError for a line without what belongs to it."""
    if "work_dir" in line:
        record.work_dirs.append(Path(line["work_dir"]))
    elif "intent" in line:
        # None would be the token of every process that has none.
        if not isinstance(token := line["token"], str):
            raise TypeError(token)
        record.tokens.add(token)
    elif "started" in line:
        record.leaders.append(_as_identity(line))
    elif "guardian" in line:
        record.guardian = _as_identity(line["guardian"])


def _lines(path: Path) -> list[dict[str, Any]]:
    entries = []
    with contextlib.suppress(OSError):
        for text in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                entries.append(json.loads(text))
    return entries


def _as_json(process: Identity) -> dict[str, Any]:
    return {"pid": process.pid, "created": process.started}


def _as_identity(line: dict[str, Any]) -> Identity:
    pid, created = line["pid"], line["created"]
    if not isinstance(pid, int) or not isinstance(created, int | float):
        raise TypeError(line)
    return Identity(pid, created)
