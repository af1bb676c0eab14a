"""How far the engine is behind during a run: sampled several times a second, averaged over time.

A single look a second would show a beat with an engine that publishes about once a second: a lag that seems to grow
for minutes while nothing grows.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

EVERY_S = 0.1
JITTER = 0.5
"""Share by which the time between two looks varies: looks at random moments have no beat with anything."""


@dataclass(frozen=True)
class Lag:
    """Records that waited since the last question: their mean over time, and the fewest at any look."""

    mean: float
    least: float


@dataclass(frozen=True)
class Lags:
    """Counted by what has come out, and by what the engine has taken; None where that is not known."""

    by_output: Lag | None = None
    by_consumed: Lag | None = None


Look = tuple[int, int, int | None]
"""Records appended to the inputs, records of the output, records consumed."""


class LagMeter:
    """Looks on in a thread of its own, from ``begin`` to ``end``. ``look`` may return None: no answer."""

    def __init__(
        self, look: Callable[[], Look | None], *, wanted: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._wanted = wanted
        self._clock = clock
        self._seen: list[tuple[float, Look]] = []
        self._consumed_since: tuple[int | None, int] = (None, 0)
        self._changed = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        if self._wanted and self._thread is None:
            self._thread = threading.Thread(target=self._look_on, name="lag", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Look no more. Nothing happens where it was never begun."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> None:
        look = self._look()
        if look is not None:
            with self._changed:
                self._seen.append((self._clock(), look))
                if look[-1] != self._consumed_since[0]:
                    self._consumed_since = look[-1], time.time_ns()

    def consumed_since_ns(self, consumed: int | None) -> int | None:
        """When so many records were first seen to be consumed; None where the last look did not see so many."""
        with self._changed:
            seen, since_ns = self._consumed_since
        return since_ns if consumed is not None and seen == consumed else None

    def take(self) -> Lags:
        """Over the time since it was last asked. The last look begins the next stretch."""
        with self._changed:
            looks, self._seen = self._seen, self._seen[-1:]
        return Lags(
            _over_time([(at_s, appended - output) for at_s, (appended, output, _) in looks]),
            _over_time(
                [(at_s, appended - consumed) for at_s, (appended, _, consumed) in looks if consumed is not None]
            ),
        )

    def _look_on(self) -> None:
        while not self._over.wait(EVERY_S * random.uniform(1 - JITTER, 1 + JITTER)):
            self.look()


def _over_time(lags: list[tuple[float, int]]) -> Lag | None:
    """Each look speaks for the time since the one before."""
    if len(lags) < 2:
        return None
    spoken = [(after_s - before_s, max(lag, 0)) for (before_s, _), (after_s, lag) in pairwise(lags)]
    whole_s = sum(length_s for length_s, _ in spoken)
    mean = sum(length_s * lag for length_s, lag in spoken) / whole_s if whole_s > 0 else float(spoken[-1][1])
    return Lag(mean, float(min(lag for _, lag in spoken)))
