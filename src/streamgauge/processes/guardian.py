"""Ends the processes of a run if the run itself cannot: ``python -m streamgauge.processes.guardian JOURNAL``.

Its standard input is a pipe that only the command line can write to. End of file means that the command line is gone,
however it ended. If the journal still exists then, it lists what is left to end; a clean exit removes it. The guardian
starts before every other process of a run, so it imports little.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from streamgauge import environment
from streamgauge.errors import EnvironmentProblem
from streamgauge.processes import proctable, reaping
from streamgauge.processes.journal import Record, read_journal

READY = b"ready\n"
WORK_DIR_PREFIX = "streamgauge-"

_GRACE_S = 2.0
_START_S = 30.0


@dataclass(frozen=True)
class CleanedUp:
    """What was cleaned up of a run. If processes could not be ended (``stuck``), the journal is kept."""

    ended: int
    removed: list[Path]
    stuck: list[int]


def clean_up(journal: Path, record: Record) -> CleanedUp:
    """End the journalled sessions, remove their work directories, then the journal."""
    ended, stuck = set[proctable.Identity](), set[proctable.Identity]()
    if record.boot == proctable.boot():
        ended, stuck = reaping.reap(record.leaders, record.tokens, grace_s=_GRACE_S)
    removed = [path for path in record.work_dirs if remove_work_dir(path)]
    if not stuck:
        journal.unlink(missing_ok=True)
    return CleanedUp(len(ended), removed, sorted(process.pid for process in stuck))


def remove_work_dir(path: Path) -> bool:
    """Whether there was something to remove. Only removes directories that a supervisor created."""
    if not path.name.startswith(WORK_DIR_PREFIX) or path.is_symlink() or not path.is_dir():
        return False
    shutil.rmtree(path, ignore_errors=True)
    return True


def start(journal: Path) -> subprocess.Popen[bytes]:
    """Start a guardian and return when it is watching. Raises EnvironmentProblem."""
    env = {name: value for name, value in environment.chosen().items() if name != reaping.TOKEN_VARIABLE}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(journal)],
        env=env,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        answered, _, _ = select.select([process.stdout], [], [], _START_S)
        if answered and process.stdout.readline() == READY:
            return process
        process.kill()
        answer = process.stderr.read().decode("utf-8", "replace").strip()
    release(process)
    raise EnvironmentProblem("the guardian process did not start", got=answer or f"no answer in {_START_S:g} s")


def release(process: subprocess.Popen[bytes]) -> None:
    """Close the guardian's input; it cleans up what is left and exits."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_START_S)


def main(journal: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(sys.stdout.fileno(), READY)
    while os.read(sys.stdin.fileno(), 4096):
        pass
    record = read_journal(journal)
    # Not the journal of another run that has reused the name.
    if record is not None and record.guardian == proctable.identity(os.getpid()):
        clean_up(journal, record)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
