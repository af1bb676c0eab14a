"""Other runs on this machine, found by their journals: active ones, and the remains of killed ones."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streamgauge.notices import Notice, notice
from streamgauge.processes import directory_lock, proctable, reaping
from streamgauge.processes.guardian import clean_up
from streamgauge.processes.journal import Record, journals, read_journal
from streamgauge.processes.proctable import Identity

GUARDIAN_S = 20.0
"""Time limit for a guardian to clean up: it gives processes 2 s to end, and tries to kill them for 10 s."""

_reported: set[Path] = set()
"""Journals that cannot be acted on; each is reported once."""


@dataclass(frozen=True)
class Leftover:
    """A journal of another command. *ending*: its guardian is cleaning up. *dead*: its guardian is gone too."""

    path: Path
    record: Record | None
    state: Literal["unreadable", "elsewhere", "active", "ending", "dead"]

    @property
    def text(self) -> str:
        if self.record is None:
            return f"{self.path} is not a journal that this version can read"
        run, cli, guardian = self.record.run, self.record.cli, self.record.guardian
        where = "machine" if self.record.host != platform.node() else "other container on"
        return {
            "elsewhere": f"{run} belongs to the {where} {self.record.host}",
            "active": f"{run} is running (process {cli.pid})",
            "ending": f"{run} is being cleaned up by its guardian (process {guardian.pid})",
        }.get(self.state, f"{run} was killed")

    def clean(self) -> str:
        """End and remove what a dead run left; returns what was done."""
        assert self.record is not None and self.state == "dead"
        done = clean_up(self.path, self.record)
        if done.stuck:
            numbers = ", ".join(map(str, done.stuck))
            return f"not clean: {self.record.run}: cannot end processes {numbers}; try again later"
        removed = "".join(f", removed {directory}" for directory in done.removed)
        return f"cleaned: {self.record.run}: ended {done.ended} processes{removed}"


def survey() -> list[Leftover]:
    """The journals of all other commands."""
    leftovers = []
    own = proctable.identity(os.getpid())
    for path in journals():
        record = read_journal(path)
        if record is None and not path.exists():
            continue  # its run has just ended
        state = _state(record)
        if record is None or state != "active" or record.cli != own:
            leftovers.append(Leftover(path, record, state))
    return leftovers


def active_runs() -> set[str]:
    """The runs that may still be going on."""
    return {one.record.run for one in survey() if one.record is not None and one.state != "dead"}


def _state(record: Record | None) -> Literal["unreadable", "elsewhere", "active", "ending", "dead"]:
    if record is None:
        return "unreadable"
    if record.host != platform.node() or record.namespace not in ("", proctable.namespace()):
        return "elsewhere"
    if record.boot != proctable.boot():
        return "dead"
    if proctable.is_alive(record.cli):
        return "active"
    return "ending" if proctable.is_alive(record.guardian) else "dead"


def clear(say: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Clean up after killed runs before measuring; report what cannot be cleaned up.

    Active runs are not touched.
    """
    directory_lock.remove_stale()
    ending = [
        leftover.record.guardian for leftover in survey() if leftover.state == "ending" and leftover.record is not None
    ]
    if ending:
        say("waiting for the guardian of a killed run to clean up")
        reaping.await_end(ending, GUARDIAN_S)
    for leftover in survey():
        if leftover.state == "dead":
            done = leftover.clean()
            (warn if done.startswith("not") else say)(done)
        elif leftover.state != "active" and leftover.path not in _reported:
            _reported.add(leftover.path)
            say(f"not touched: {leftover.text}")


def interference(warn: Callable[[str], None] = lambda text: None) -> dict[Identity, Notice]:
    """What may disturb a measurement now: a notice for each active command and each killed run with live processes."""
    names: dict[Identity, list[str]] = {}
    warnings: dict[Identity, Notice] = {}
    for leftover in survey():
        if leftover.record is None or leftover.state == "elsewhere":
            continue
        if leftover.state == "active":
            names.setdefault(leftover.record.cli, []).append(leftover.record.run)
        elif leftover.record.boot == proctable.boot() and (
            processes := reaping.find(leftover.record.leaders, leftover.record.tokens)
        ):
            numbers = ", ".join(str(process.pid) for process in sorted(processes, key=lambda process: process.pid))
            warnings[leftover.record.cli] = notice("leftover-processes", run=leftover.record.run, pids=numbers)
    for cli, runs in names.items():
        warnings[cli] = notice("other-run-active", runs=", ".join(sorted(runs)), pid=cli.pid)
    for text in warnings.values():
        warn(text)
    return warnings


def newcomers(known: Container[Identity]) -> list[Notice]:
    """``interference`` by commands that are not in ``known``."""
    return [text for cli, text in interference().items() if cli not in known]
