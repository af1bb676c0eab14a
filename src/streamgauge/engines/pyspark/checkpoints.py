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
        """Where the query began to read each partition; None while it has not begun."""
        # A directory for each source; Spark makes them one by one, before the first batch.
        if not (self._path / "offsets").is_dir():
            return None
        files = sorted(self._path.glob("sources/*/0"))
        begins = [_by_topic(_json_lines(file)) for file in files]
        return _merged(begins) if files and all(one is not None for one in begins) else None

    def fresh(self) -> Iterator[Commit]:
        """The batches that were committed since the last call, in order."""
        numbers = sorted(number for number in _numbers(self._path / "commits") if number > self._last)
        for number in numbers:
            try:
                stamp_ns = (self._path / "commits" / str(number)).stat().st_ctime_ns
                header, *sources = _json_lines(self._path / "offsets" / str(number))
            except (OSError, ValueError):
                # Removed meanwhile: what it held is in the one after it.
                continue
            self._last = number
            ends = _merged([found for source in sources if (found := _by_topic([source])) is not None])
            watermark_ms = int(header.get("batchWatermarkMs", 0)) if isinstance(header, dict) else 0
            yield Commit(number, -(-stamp_ns // NS_PER_MS), ends, watermark_ms)


def _numbers(directory: Path) -> Iterator[int]:
    try:
        names = [one.name for one in directory.iterdir()]
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def _json_lines(file: Path) -> list[Any]:
    """The lines of the file that are JSON, after the one with its version."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return []
    lines = [line.strip("\0 ") for line in text.splitlines()]
    return [json.loads(line) for line in lines if line.startswith(("{", "-", "["))]


def _by_topic(lines: list[Any]) -> Ends | None:
    """The offsets of a source; an empty one if it is not Kafka's, None where there is nothing yet."""
    if not lines:
        return None
    [offsets, *_] = lines
    if not isinstance(offsets, Mapping) or not all(isinstance(parts, Mapping) for parts in offsets.values()):
        return {}
    return {topic: {int(part): int(end) for part, end in parts.items()} for topic, parts in offsets.items()}


def _merged(many: list[Ends | None]) -> Ends:
    """A record counts as read when all sources of the query have read it."""
    merged: Ends = {}
    for ends in many:
        for topic, parts in (ends or {}).items():
            own = merged.setdefault(topic, {})
            for part, end in parts.items():
                own[part] = min(end, own.get(part, end))
    return merged
