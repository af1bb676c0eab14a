"""Which records all queries of a script have committed, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamgauge.engines.pyspark.checkpoints import Checkpoint, Commit, Ends


@dataclass
class Query:
    """A query of the script, by what the shim reports and what its checkpoint holds."""

    name: str
    checkpoint: Checkpoint
    begins: Ends | None = None
    """Where it began to read each partition; None while that is not known."""
    committed: Ends = field(default_factory=dict)
    """How far each partition was committed."""
    ended: bool = False
    """It reads no further records."""
    has_committed: bool = False

    def reads(self, topic: str, part: int, offset: int) -> bool:
        """Whether it reads this record, or will."""
        if self.begins is None or part not in self.begins.get(topic, {}):
            return False
        upto = self.committed.get(topic, {}).get(part, 0) if self.ended else offset + 1
        return self.begins[topic][part] <= offset < upto


@dataclass
class Coverage:
    """All queries together: a record is committed when every query that reads it has committed it.

    A query that starts later counts from then on: what was committed before is not taken back. A record that no query
    reads (one that began at the latest offset, in the place of another that has ended) is never committed.
    """

    topics: Sequence[str]
    queries: dict[str, Query] = field(default_factory=dict)
    """By checkpoint."""
    done: Ends = field(default_factory=dict)
    """Up to where every record was committed, or is read by nobody."""
    _latest_ms: int = 0

    def begin(self, query: Query, begins: Ends) -> None:
        """The query begins to read there."""
        query.begins = {topic: parts for topic, parts in begins.items() if topic in self.topics}
        query.committed = {topic: dict(parts) for topic, parts in query.begins.items()}

    def end(self, *queries: Query) -> tuple[int, list[dict[str, Any]]]:
        """These read no further records; what only they held up is committed now, as ``take`` returns it."""
        for query in queries:
            query.ended = True
        places = {(topic, part) for query in queries for topic, parts in (query.begins or {}).items() for part in parts}
        return self._latest_ms, [one for place in sorted(places) for one in self._covered(*place)]

    def take(self, query: Query, commit: Commit) -> tuple[int, list[dict[str, Any]]]:
        """What the commit of a batch completes: ranges of records, and when all of their queries had committed them.

        Commits are to be taken in the order of their moments. Where one is seen too late for that, the moment is that
        of the newest one so far: latencies are upper bounds.
        """
        query.has_committed = True
        self._latest_ms = max(self._latest_ms, commit.committed_ms)
        covered = []
        for topic, parts in commit.ends.items():
            for part, end in parts.items() if topic in self.topics else ():
                mine = query.committed.setdefault(topic, {})
                assert query.begins is not None
                # A partition that was added after the start.
                query.begins.setdefault(topic, {}).setdefault(part, 0)
                mine[part] = max(end, mine.get(part, 0))
                covered += self._covered(topic, part)
        return self._latest_ms, covered

    def _covered(self, topic: str, part: int) -> list[dict[str, Any]]:
        ranges = self._advance(topic, part)
        return [{"topic": topic, "partition": part, "from": first, "to": end} for first, end in ranges]

    def _advance(self, topic: str, part: int) -> Iterator[tuple[int, int]]:
        done = self.done.setdefault(topic, {})
        at = done.get(part, 0)
        begun = [query for query in self.queries.values() if part in (query.begins or {}).get(topic, {})]
        begins = sorted({query.begins[topic][part] for query in begun if query.begins is not None})
        while True:
            readers = [query for query in begun if query.reads(topic, part, at)]
            later = [begin for begin in begins if begin > at]
            if readers:
                end = min([query.committed[topic][part] for query in readers] + later)
                if end <= at:
                    break
                yield at, end
            elif later and not any(query.begins is None and not query.ended for query in self.queries.values()):
                # One that has not begun yet may read them.
                end = later[0]
            else:
                break
            at = done[part] = end
