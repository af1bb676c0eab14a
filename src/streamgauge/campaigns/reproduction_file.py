"""``reproduction.json``: what was run of a study, what came of it, and all that is needed to go on.

Format history
--------------
1   first; ``runs``, ``verdict``, ``settings`` and ``faults`` of an experiment, ``run``, ``p50_ms``, ``p99_ms``,
    ``rate_output`` and ``interval`` of an attempt came later and may be missing; ``dimensions`` of an experiment came
    in place of ``stage`` and ``variant``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamgauge import __version__, identity
from streamgauge.campaigns.resumable import check_same, read
from streamgauge.errors import UsageError
from streamgauge.machine import description as machine
from streamgauge.report.reproduction import dimensions_of
from streamgauge.rundir import write_json
from streamgauge.schemas import RESUMED_REPRODUCTION
from streamgauge.study import Study

FORMAT = 1
NAME = "reproduction.json"

Row = dict[str, Any]
"""One experiment on one engine."""


class ReproductionFile:
    """The file of one reproduction, written whole after every change."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self._path = path
        self.content = content

    @classmethod
    def open(cls, out: Path, name: str, study: Study, settings: Mapping[str, Any]) -> ReproductionFile:
        """That of a reproduction begun with these settings, or a new one, which is not written yet.

        Raises UsageError when the directory holds something else, or a reproduction with other settings.
        """
        path = out / NAME
        here = machine.describe()
        on_machine = {f"machine.{key}": here[key] for key in identity.MACHINE}
        settings = {"study": name, **settings, "streamgauge": __version__, **on_machine}
        if path.is_file():
            content = read(path, FORMAT, RESUMED_REPRODUCTION)
            # Early files name less of the machine.
            check_same(path, {**on_machine, **content["settings"]}, settings, "reproduction")
            return cls(path, _completed(content))
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(
                "the directory of the reproduction is not empty",
                where=out,
                expected=f"a new or empty directory, or one with {NAME}",
                hint="another --out, or remove it yourself",
            )
        return cls(
            path,
            {
                "format": FORMAT,
                "study": name,
                "title": study.title,
                "source": study.source,
                "profile": settings["profile"],
                "state": "unfinished",
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": 0.0,
                "machine": here,
                "streamgauge": __version__,
                "settings": settings,
                "experiments": [],
            },
        )

    @property
    def rows(self) -> list[Row]:
        rows: list[Row] = self.content["experiments"]
        return rows

    def row(self, name: str, engine: str) -> Row:
        return next(row for row in self.rows if (row["name"], row["engine"]) == (name, engine))

    def lay_out(self, rows: Sequence[Row]) -> None:
        """The experiments, in their order. Those that are done already keep what they have."""
        done = {(row["name"], row["engine"]): row for row in self.rows if row["attempts"]}
        fresh = {(row["name"], row["engine"]): row for row in rows}
        self.content["experiments"] = list({**fresh, **done}.values())

    def settle(
        self,
        row: Row,
        *,
        verdict: str,
        directory: str,
        summary: Mapping[str, Any] | None,
        capacity: Mapping[str, Any] | None,
        seconds: float,
        done: bool,
    ) -> None:
        """Note what the attempts at an experiment, the newest one included, come to. Not written yet."""
        row |= {
            "state": "done" if done else "pending",
            "verdict": verdict,
            "directory": directory,
            "summary": summary,
            "capacity": capacity,
        }
        self.content["seconds"] = round(self.content["seconds"] + seconds, 1)

    def write(self) -> None:
        pending = any(row["state"] == "pending" for row in self.rows)
        self.content["state"] = "unfinished" if pending else "finished"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path, self.content)


def _completed(content: dict[str, Any]) -> dict[str, Any]:
    """With what an earlier version, which made one run of each experiment, wrote otherwise or not at all."""
    for row in content["experiments"]:
        row["dimensions"] = dimensions_of(row)
        row.setdefault("runs", 1)
        row.setdefault("verdict", row["attempts"][-1]["verdict"] if row["attempts"] else None)
        for attempt in row["attempts"]:
            attempt.setdefault("run", 1)
    return content
