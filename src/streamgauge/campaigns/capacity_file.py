"""The ``capacity.json`` of a search that goes on: written whole after every change (model/capacity.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.campaigns.resumable import check_same
from streamgauge.campaigns.search import Answer
from streamgauge.errors import UsageError
from streamgauge.model import capacity
from streamgauge.model.capacity import FORMAT, NAME, BestLatency, Capacity, CapacityProbe, CapacitySet


class CapacityFile:
    """The file of one search."""

    def __init__(self, path: Path, content: Capacity) -> None:
        self._path = path
        self.content = content

    @classmethod
    def open(cls, out: Path, settings: Mapping[str, Any]) -> CapacityFile:
        """The file of an unfinished or finished search with these settings, or a new one.

        Raises UsageError when the directory holds something else, or a search with other settings.
        """
        path = out / NAME
        if path.is_file():
            content = capacity.read(path)
            if isinstance(content, CapacitySet):
                raise UsageError(
                    "the directory holds several searches",
                    where=path,
                    got="no --runs",
                    expected=f"--runs {content.runs} to resume them",
                    hint="the same command with --runs, or another --out",
                )
            check_same(path, content.settings, settings, "search")
            return cls(path, content)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(
                "the directory of the search is not empty",
                where=out,
                expected=f"a new or empty directory, or one with {NAME}",
                hint="another --out, or remove it yourself",
            )
        (out / "probes").mkdir(parents=True, exist_ok=True)
        (out / "logs").mkdir(exist_ok=True)
        file = cls(path, _fresh(settings))
        file._update()
        return file

    @property
    def probes(self) -> Sequence[CapacityProbe]:
        return self.content.probes

    @property
    def finished(self) -> bool:
        return self.content.outcome is not None

    @property
    def guess(self) -> int | None:
        return self.content.guess

    @property
    def next_number(self) -> int:
        return len(self.probes) + 1

    def set_guess(self, guess: int) -> None:
        self._update(guess=guess)

    def add(self, probe: CapacityProbe) -> None:
        probes = [*self.probes, probe]
        known = [row.validated for row in probes if row.validated is not None]
        self._update(
            probes=probes,
            validated=all(known) if known else None,
            seconds=round(sum(row.seconds for row in probes), 1),
            seconds_saved=round(sum(row.seconds_saved for row in probes), 1),
        )

    def finish(self, answer: Answer) -> None:
        best = [row for row in self.probes if row.value == answer.best and row.verdict == "sustained"]
        self._update(
            outcome=answer.outcome,
            interval=(answer.best, answer.beyond),
            confirmed=answer.confirmed,
            note=answer.note,
            # The confirming run is the last of them, and the longest.
            best_latency_ms=BestLatency(p50=best[-1].total_p50, p99=best[-1].total_p99) if best else None,
        )

    def note_failure(self, why: str) -> None:
        """The search ended because the system under test failed. It stays unfinished, and may be resumed."""
        self._update(note=why)

    def _update(self, **changes: Any) -> None:
        self.content = self.content.with_changes(**changes)
        capacity.write(self._path, self.content)


def _fresh(settings: Mapping[str, Any]) -> Capacity:
    return Capacity(
        format=FORMAT,
        scenario=settings["scenario"],
        engine=settings["engine"],
        rule=settings["rule"],
        slo=settings["slo"],
        resolution=settings["resolution"],
        over=settings["over"],
        unit=capacity.unit(settings["over"]),
        outcome=None,
        interval=(None, None),
        confirmed=False,
        validated=None,
        note="",
        best_latency_ms=None,
        guess=None,
        probes=(),
        seconds=0.0,
        seconds_saved=0.0,
        settings=dict(settings),
    )
