"""``streamgauge compare my_job.py@main my_job.py``: two scripts, or two revisions of one, measured in turns."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.cli.metrics import metrics_on

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request

_SCRIPT = re.compile(r"(?P<path>.+\.py)(?:@(?P<revision>[^@\s]+))?")
_GIT_S = 60.0


def scripts_of(side: str) -> re.Match[str] | None:
    """Path and revision, if a side of a comparison is a script."""
    return _SCRIPT.fullmatch(side)


def run_scripts(
    scripts: Sequence[re.Match[str] | None],
    options: Sequence[str],
    runs: int,
    out: Path,
    metrics_port: int | None = None,
) -> tuple[Path, Path]:
    """Measure both in turns with the options of ``run``; returns the two new sets. Raises UsageError."""
    from streamgauge.campaigns.repetition import run_interleaved
    from streamgauge.cli.live import LiveView
    from streamgauge.processes.supervisor import signals_as_interrupt

    sets = out / "a", out / "b"
    requests: list[Request] = []
    for script, target in zip(scripts, sets, strict=True):
        assert script is not None
        path, revision = Path(script["path"]), script["revision"]
        # Beside the set, which must be empty.
        file = check_out(path, revision, target.with_name(f"{target.name}-source")) if revision else path
        requests.append(replace(_request(str(file), options), out=target))
    with signals_as_interrupt(), metrics_on(metrics_port) as publish, LiveView(publish) as view:
        run_interleaved(requests, runs, view)
    return sets


def _request(script: str, options: Sequence[str]) -> Request:
    """As ``run`` understands these options."""
    import typer

    from streamgauge.cli.request import takes_request

    built: list[Any] = []
    app = typer.Typer(add_completion=False)

    def compare(request: Any) -> None:
        built.append(request)

    app.command()(takes_request(compare))
    typer.main.get_command(app).main([script, *options], standalone_mode=False)
    request: Request = built[0]
    return request


def check_out(script: Path, revision: str, target: Path) -> Path:
    """The script as it was at a revision, with everything that was in the repository then.

    Raises UsageError or EnvironmentProblem.
    """
    from streamgauge.errors import EnvironmentProblem, UsageError

    folder = script.absolute().parent

    program = shutil.which("git")
    if program is None:
        raise UsageError(f"the revision {revision} of the script needs git", expected="git on the PATH")

    def git(*words: str) -> bytes:
        try:
            done = subprocess.run(
                [program, "-C", str(folder), *words], capture_output=True, timeout=_GIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentProblem(
                "git did not answer", where=folder, expected=f"an answer in {_GIT_S:g} s"
            ) from None
        if done.returncode != 0:
            raise UsageError(
                f"the revision {revision} of the script cannot be had from git",
                where=script,
                got=(done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"])[-1],
            )
        return done.stdout

    root = Path(git("rev-parse", "--show-toplevel").decode().strip())
    archive = git("archive", "--format=tar", f"{revision}^{{commit}}", ":/")
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(target, filter="data")
    except tarfile.TarError as problem:  # such as a link to a place outside the repository
        raise UsageError(f"the revision {revision} cannot be unpacked", where=root, got=str(problem)) from None
    # The script itself may be a link.
    file = target / (folder.resolve() / script.name).relative_to(root.resolve())
    if not file.is_file():
        raise UsageError(f"the script does not exist at the revision {revision}", where=script)
    return file
