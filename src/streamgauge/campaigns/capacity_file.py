"""``capacity.json``: the results of a search so far, and all that is needed to resume it.

Format history
--------------
1   first; ``validated`` of a search and of a probe, and ``harder`` came later and may be missing. A file with
    ``searches`` puts several searches together: capacity_set.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge import identity
from streamgauge.campaigns.resumable import check_same, read
from streamgauge.campaigns.search import Answer
from streamgauge.errors import UsageError
from streamgauge.identity import Ignored
from streamgauge.model import Scenario
from streamgauge.redaction import redact_options
from streamgauge.rundir import write_json
from streamgauge.schemas import CAPACITY
from streamgauge.stored import check
from streamgauge.studies.search_axis import SearchAxis

FORMAT = 1
NAME = "capacity.json"

ASKED = ("scenario", "engine", "rule", "slo", "resolution", "over", "harder")
"""Settings that stand beside the answer, too."""
NAMED_OTHERWISE = (
    *("scenario.study", "scenario.name", "scenario.chosen", "scenario.parameters", "scenario.sustained"),
    *("scenario.job", "engine"),
)
"""In ``scenario``, ``stage``, ``parameters``, ``rule``, ``job``, ``engine`` and ``options``."""
IGNORED: Ignored = {
    "scenario.load.tail_s": "follows from the workload and the engine's trigger",
}


class CapacityFile:
    """The file of one search, written whole after every change."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self._path = path
        self.content = content

    @classmethod
    def open(cls, out: Path, settings: Mapping[str, Any]) -> CapacityFile:
        """The file of an unfinished or finished search with these settings, or a new one.

        Raises UsageError when the directory holds something else, or a search with other settings.
        """
        path = out / NAME
        if path.is_file():
            content = read(path, FORMAT, {})
            if "searches" in content:
                raise UsageError(
                    "the directory holds several searches",
                    where=path,
                    got="no --runs",
                    expected=f"--runs {content.get('runs')} to resume them",
                    hint="the same command with --runs, or another --out",
                )
            check(path, content, CAPACITY)
            check_resumable(path, content["settings"], settings)
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
        file._write()
        return file

    @property
    def probes(self) -> list[dict[str, Any]]:
        probes: list[dict[str, Any]] = self.content["probes"]
        return probes

    @property
    def finished(self) -> bool:
        return self.content["outcome"] is not None

    @property
    def guess(self) -> int | None:
        guess: int | None = self.content["guess"]
        return guess

    @property
    def next_number(self) -> int:
        return len(self.probes) + 1

    def set_guess(self, guess: int) -> None:
        self.content["guess"] = guess
        self._write()

    def add(self, probe: Mapping[str, Any]) -> None:
        self.probes.append(dict(probe))
        known = [row["validated"] for row in self.probes if row.get("validated") is not None]
        self.content["validated"] = all(known) if known else None
        self.content["seconds"] = round(sum(row["seconds"] for row in self.probes), 1)
        self.content["seconds_saved"] = round(sum(row["seconds_saved"] for row in self.probes), 1)
        self._write()

    def finish(self, answer: Answer) -> None:
        best = [row for row in self.probes if row["value"] == answer.best and row["verdict"] == "sustained"]
        self.content |= {
            "outcome": answer.outcome,
            "interval": [answer.best, answer.beyond],
            "confirmed": answer.confirmed,
            "note": answer.note,
            # The confirming run is the last of them, and the longest.
            "best_latency_ms": {p: best[-1][f"total_{p}"] for p in ("p50", "p99")} if best else None,
        }
        self._write()

    def note_failure(self, why: str) -> None:
        """The search ended because the system under test failed. It stays unfinished, and may be resumed."""
        self.content["note"] = why
        self._write()

    def _write(self) -> None:
        write_json(self._path, self.content)


def asked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a reader looks for first, and the unit of what is searched."""
    return {**{key: settings[key] for key in ASKED if key in settings}, "unit": SearchAxis.of_file(settings).unit}


def identifying_settings(scenario: Scenario) -> dict[str, Any]:
    """What identifies the measurement, by the names that this file has for it."""
    identified = identity.ignoring(identity.of_scenario(scenario), [*NAMED_OTHERWISE, *IGNORED])
    return {
        "stage": scenario.chosen,
        "parameters": json.loads(json.dumps(dict(scenario.parameters))),
        "engine": scenario.engine,
        "options": redact_options(scenario.engine_options),
        "rule": scenario.sustained,
        "job": None if scenario.job is None else scenario.job.sha256,
        **{name.rpartition(".")[2]: value for name, value in identified.items()},
    }


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file; what an earlier version did not write has the value that is the default now."""
    missing = {**identity.defaults(), **identity.load_defaults(), "harder": SearchAxis.of_file(settings).harder}
    parameters = {name: settings[name] for name in identity.EARLY if name in settings} | settings.get("parameters", {})
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


def _fresh(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        **asked(settings),
        "outcome": None,
        "interval": [None, None],
        "confirmed": False,
        "validated": None,
        "note": "",
        "best_latency_ms": None,
        "guess": None,
        "probes": [],
        "seconds": 0.0,
        "seconds_saved": 0.0,
        "settings": dict(settings),
    }
