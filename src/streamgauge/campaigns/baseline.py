"""An earlier run that a new one is compared with."""

from __future__ import annotations

from pathlib import Path

from streamgauge.campaigns.comparison import check_usable, compare
from streamgauge.campaigns.repetition import read_runs
from streamgauge.errors import UsageError
from streamgauge.model.comparison import Comparison
from streamgauge.report.history import find
from streamgauge.rundir import RunDir

LATEST = "latest"


def check_baseline(baseline: str) -> None:
    """Before anything is measured. Raises UsageError if a directory that is named holds no runs to compare with."""
    if baseline != LATEST:
        check_usable(Path(baseline))


def against(baseline: str, new: Path) -> Comparison | str:
    """The comparison of the run or set ``new`` with the baseline; or why there is none.

    ``latest`` is the newest earlier VALID run of the same scenario and engine beside it that was measured alike. Raises
    UsageError for a directory that cannot be compared with it.
    """
    if baseline != LATEST:
        return compare(Path(baseline), new)
    ours = read_runs(new)
    manifest = ours[0].manifest()
    mine = {run.path.resolve() for run in ours}
    refusals: list[str] = []
    entries, _ = find(new.parent, f"{manifest.scenario.study}/{manifest.scenario.name}")
    for entry in reversed(entries):
        run = RunDir(entry.directory)
        if entry.directory.resolve() in mine or not entry.usable or entry.state == "drifting":
            continue
        if run.manifest().engine.name != manifest.engine.name:
            continue
        # A run of a set is compared with all runs of it.
        whole = entry.directory.parent
        try:
            return compare(whole if (whole / "summary.json").is_file() else entry.directory, new)
        except UsageError as problem:
            refusals.append(problem.what)
    why = f" ({refusals[0]})" if refusals else ""
    return f"no earlier run in {new.parent} that can be compared with it{why}"
