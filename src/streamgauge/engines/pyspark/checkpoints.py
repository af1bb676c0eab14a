"""Reads what Spark writes into the checkpoint of a query: which input a batch holds, and when it was committed.

``offsets/N`` has the end offsets of batch N, exclusive; ``commits/N`` appears when the sink has the batch. Each is
written under another name and renamed, which its ``st_ctime`` shows; names that begin with a dot are not complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NS_PER_MS = 1_000_000

Ends = dict[str, dict[int, int]]
"""End offsets, by topic and partition."""


@dataclass(frozen=True)
class Commit:
    """One batch, done."""

    batch: int
    committed_ms: int
    """The moment of the rename, rounded up: the batch was not committed later than that."""
    ends: Ends
    watermark_ms: int


class Checkpoint:
    """The checkpoint of one query. It may not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = -1

    def begin(self) -> Ends | None:
        """Where the query began to read each partition; None while it has not begun.

        There is a directory for each source. Spark makes them one by one, before the first batch, so the answer may
        lack some at first.
        """
        if not (self._path / "offsets").is_dir():
            return None
        found = [lines[0] for file in sorted(self._path.glob("sources/*/0")) if (lines := _lines(file))]
        return _merged([_by_topic(source) for source in found]) if found else None

    def fresh(self) -> Iterator[Commit]:
        """The batches that were committed since the last call, in order."""
        numbers = sorted(number for number in _numbers(self._path / "commits") if number > self._last)
        for number in numbers:
            try:
                stamp_ns = (self._path / "commits" / str(number)).stat().st_ctime_ns
                header, *sources = _lines(self._path / "offsets" / str(number))
            except (OSError, ValueError):
                # Removed meanwhile: what it held is in the one after it.
                continue
            self._last = number
            ends = _merged([_by_topic(source) for source in sources])
            watermark_ms = header.get("batchWatermarkMs", 0) if isinstance(header, dict) else 0
            watermark_ms = watermark_ms if isinstance(watermark_ms, int) else 0
            yield Commit(number, -(-stamp_ns // NS_PER_MS), ends, watermark_ms)


def _numbers(directory: Path) -> Iterator[int]:
    try:
        names = [one.name for one in directory.iterdir()]
    except OSError:
        return
    yield from (int(name) for name in names if name.isascii() and name.isdigit())


def _lines(file: Path) -> list[Any]:
    """The lines after the one with the version, as JSON; None for one that is not, such as the dash that stands for a
    source without an offset. Empty if the file does not exist."""
    try:
        _, *lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    return [_json(line) for line in lines if line.strip("\0 ")]


def _json(line: str) -> Any:
    try:
        return json.loads(line.strip("\0 "))
    except (ValueError, RecursionError):
        return None


def _by_topic(offsets: Any) -> Ends:
    """The offsets of a source; none if it is not Kafka's."""
    if not isinstance(offsets, Mapping) or not all(isinstance(parts, Mapping) for parts in offsets.values()):
        return {}
    try:
        return {topic: {int(part): int(end) for part, end in parts.items()} for topic, parts in offsets.items()}
    except (TypeError, ValueError, OverflowError):
        return {}


def _merged(many: list[Ends]) -> Ends:
    """A record counts as read when all sources of the query have read it."""
    merged: Ends = {}
    for ends in many:
        for topic, parts in ends.items():
            own = merged.setdefault(topic, {})
            for part, end in parts.items():
                own[part] = min(end, own.get(part, end))
    return merged
