"""The ``reproduction.json`` of a reproduction in progress (model/campaign.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamgauge import __version__
from streamgauge.campaigns.resumable import check_same, here
from streamgauge.machine import description as machine
from streamgauge.model.campaign import (
    REPRODUCTION_FORMAT,
    REPRODUCTION_NAME,
    ExperimentRow,
    Reproduction,
    read_reproduction,
    write_reproduction,
)
from streamgauge.rundir import check_free
from streamgauge.stored import CAMPAIGN_HINT, damaged
from streamgauge.study import Study


class ReproductionFile:
    """The file of one reproduction, written whole after every change."""

    def __init__(self, path: Path, content: Reproduction) -> None:
        self._path = path
        self.content = content

    @classmethod
    def open(cls, out: Path, name: str, study: Study, settings: Mapping[str, Any]) -> ReproductionFile:
        """That of a reproduction begun with these settings, or a new one, which is not written yet.

        Raises UsageError when the directory holds something else, or a reproduction with other settings.
        """
        path = out / REPRODUCTION_NAME
        settings = {"study": name, **settings, **here()}
        if path.is_file():
            content = read_reproduction(path)
            # Early files name less of the machine.
            check_same(path, {**here(), **content.settings}, settings, "reproduction")
            _check_rows(path, content, study)
            return cls(path, content)
        check_free(out, "directory of the reproduction", REPRODUCTION_NAME)
        return cls(
            path,
            Reproduction(
                format=REPRODUCTION_FORMAT,
                study=name,
                title=study.title,
                source=study.source,
                profile=settings["profile"],
                state="unfinished",
                started=datetime.now(UTC).isoformat(timespec="seconds"),
                seconds=0.0,
                machine=machine.describe(),
                streamgauge=__version__,
                settings=settings,
                experiments=[],
            ),
        )

    @property
    def rows(self) -> Sequence[ExperimentRow]:
        return self.content.experiments

    def row(self, name: str, engine: str) -> ExperimentRow:
        return next(row for row in self.rows if (row.name, row.engine) == (name, engine))

    def lay_out(self, rows: Sequence[ExperimentRow]) -> None:
        """The experiments, in their order. Those that are done already keep what they have. Not written yet."""
        done = {(row.name, row.engine): row for row in self.rows if row.attempts}
        fresh = {(row.name, row.engine): row for row in rows}
        self._update(experiments=list({**fresh, **done}.values()))

    def settle(self, row: ExperimentRow, seconds: float) -> None:
        """Replace an experiment's row after an attempt that took so long. Not written yet."""
        rows = [row if (one.name, one.engine) == (row.name, row.engine) else one for one in self.rows]
        self._update(experiments=rows, seconds=round(self.content.seconds + seconds, 1))

    def write(self) -> None:
        pending = any(row.state == "pending" for row in self.rows)
        self._update(state="unfinished" if pending else "finished")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_reproduction(self._path, self.content)

    def _update(self, **changes: Any) -> None:
        self.content = self.content.with_changes(**changes)


def _check_rows(path: Path, content: Reproduction, study: Study) -> None:
    """Raises UsageError for an experiment unlike the study's, or an answer without the run that confirms it."""
    known = {experiment.name: dict(experiment.dimensions) for experiment in study.experiments}
    for number, row in enumerate(content.experiments):
        place, expected = f"experiments[{number}]", known.get(row.name, row.dimensions)
        if row.dimensions != expected:
            raise damaged(path, f"{place}.dimensions is {dict(row.dimensions)}", str(expected), CAMPAIGN_HINT)
        if row.capacity is not None and row.capacity.confirmed and not row.capacity.probes:
            raise damaged(path, f"{place}.capacity.probes is empty", "the confirming run", CAMPAIGN_HINT)
