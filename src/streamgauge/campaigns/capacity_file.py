"""The ``capacity.json`` of a search that can be resumed: written whole after every change (model/capacity.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge import identity
from streamgauge.campaigns.resumable import check_same
from streamgauge.campaigns.search import Answer
from streamgauge.errors import UsageError
from streamgauge.identity import Ignored
from streamgauge.model import Scenario, capacity
from streamgauge.model.capacity import FORMAT, NAME, BestLatency, Capacity, CapacityProbe, CapacitySet, Searched
from streamgauge.redaction import redact_options
from streamgauge.rundir import check_free
from streamgauge.search_axis import SearchAxis

NAMED_OTHERWISE = (
    *("scenario.study", "scenario.name", "scenario.chosen", "scenario.parameters", "scenario.sustained"),
    *("scenario.script", "engine"),
)
"""In ``scenario``, ``stage``, ``parameters``, ``rule``, ``script``, ``engine`` and ``options``."""
IGNORED: Ignored = {
    "scenario.load.tail_s": "follows from the workload and the engine's trigger",
}


class CapacityFile:
    """The file of one search."""

    def __init__(self, path: Path, content: Capacity) -> None:
        self._path = path
        self.content = content

    @classmethod
    def open(cls, out: Path, settings: Mapping[str, Any]) -> CapacityFile:
        """The file of an unfinished or finished search with these settings, or a new one.

        Raises UsageError as ``begun`` does.
        """
        return cls.begun(out, settings) or cls._create(out, settings)

    @classmethod
    def begun(cls, out: Path, settings: Mapping[str, Any]) -> CapacityFile | None:
        """The file of a search with these settings; None where none was begun. Writes nothing.

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
            check_resumable(path, content.settings, settings)
            return cls(path, content)
        check_free(out, "directory of the search", NAME)
        return None

    @classmethod
    def _create(cls, out: Path, settings: Mapping[str, Any]) -> CapacityFile:
        (out / "probes").mkdir(parents=True, exist_ok=True)
        (out / "logs").mkdir(exist_ok=True)
        file = cls(out / NAME, _fresh(settings))
        file._update()
        return file

    @property
    def probes(self) -> Sequence[CapacityProbe]:
        return self.content.probes

    @property
    def finished(self) -> bool:
        return self.content.outcome is not None

    @property
    def guess(self) -> float | None:
        return self.content.guess

    @property
    def next_number(self) -> int:
        return len(self.probes) + 1

    def set_guess(self, guess: float) -> None:
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


def identifying_settings(scenario: Scenario) -> dict[str, Any]:
    """What identifies the measurement, by the names that this file has for it."""
    identified = identity.ignoring(identity.of_scenario(scenario), [*NAMED_OTHERWISE, *IGNORED])
    return {
        "stage": scenario.chosen,
        "parameters": json.loads(json.dumps(dict(scenario.parameters))),
        "engine": scenario.engine,
        "options": redact_options(scenario.engine_options),
        "rule": scenario.sustained,
        "script": None if scenario.script is None else scenario.script.sha256,
        **{name.rpartition(".")[2]: value for name, value in identified.items()},
    }


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file; what an earlier version did not write has the value that is the default now."""
    missing = {**identity.defaults(), **identity.load_defaults(), "harder": SearchAxis.of_settings(settings).harder}
    early = {name: settings[name] for name in identity.EARLY if name in settings}
    known = settings.get("parameters")
    parameters = {**early, **(known if isinstance(known, Mapping) else {})}
    return {**json.loads(json.dumps(missing)), **settings, "parameters": parameters}


def check_resumable(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises UsageError naming the first setting with which the search there was not begun.

    A value that only one of the two versions knows, and that has no default, is not compared.
    """
    begun = completed(before)
    if begun["parameters"].keys() != now["parameters"].keys():
        # Early files lack some, and have others that this workload does not use.
        begun["parameters"] = {name: begun["parameters"].get(name, value) for name, value in now["parameters"].items()}
    both = [name for name in now if name in begun]
    check_same(path, {name: begun[name] for name in both}, {name: now[name] for name in both}, "search")


def searched(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a search and a set of them have in common."""
    return Searched(
        format=FORMAT,
        scenario=settings["scenario"],
        engine=settings["engine"],
        rule=settings["rule"],
        slo=settings["slo"],
        resolution=settings["resolution"],
        over=settings["over"],
        harder=settings.get("harder"),
        unit=SearchAxis.of_settings(settings).unit,
    ).as_json()


def _fresh(settings: Mapping[str, Any]) -> Capacity:
    return Capacity(
        **searched(settings),
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
