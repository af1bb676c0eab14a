"""The state of one measurement point in the customised stages, in plain Python without Spark.

A second is published when it has one joined record for each lane of the point, and again when it is final, if records
were added since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

IDLE_MS = 10_000
"""How long the state of a silent point is kept. Active points are cleaned up with each message."""


@dataclass(frozen=True)
class Stage:
    """What to compute for a point. ``lookbacks_s`` is None for the join, empty for the tumbling window."""

    join_bound_ms: int
    lookbacks_s: tuple[int, ...] | None = None

    @property
    def oldest_s(self) -> int:
        """How many seconds back a result looks at most."""
        return max(self.lookbacks_s or (0,))


@dataclass
class Second:
    """The joined records of one second so far."""

    n: int = 0
    flow: int = 0
    speeds: int = 0
    published_n: int = 0
    """``n`` of the last published result. Every record added to a result increases its ``n``."""
    settled: bool = False
    """Its result is final and has been published."""

    @property
    def speed(self) -> float:
        return self.speeds / self.n


@dataclass(frozen=True)
class Message:
    """A flow or a speed message with its append time; the other value is None."""

    timestamp: str
    lane: str
    lanes: int
    flow: int | None
    speed: int | None
    appended_ms: int


Result = dict[str, Any]


@dataclass
class Point:
    """The state of one measurement point."""

    id: str
    stage: Stage
    lanes: int = 0
    waiting: dict[tuple[str, str], Message] = field(default_factory=dict)
    """Messages whose counterpart has not arrived, by timestamp and lane. A data set contains each pair once."""
    seconds: dict[int, Second] = field(default_factory=dict)
    """Keyed by their end in milliseconds."""
    timer_ms: int | None = None
    """The timer that is set, if any."""

    @classmethod
    def load(cls, id_: str, stage: Stage, text: str | None) -> Point:
        if text is None:
            return cls(id_, stage)
        lanes, timer_ms, waiting, seconds = json.loads(text)
        messages = (Message(*fields) for fields in waiting)
        return cls(
            id_,
            stage,
            lanes,
            {(message.timestamp, message.lane): message for message in messages},
            {end_ms: Second(*fields) for end_ms, *fields in seconds},
            timer_ms,
        )

    def dump(self) -> str:
        """Everything except the other arguments of ``load``."""
        waiting = [list(vars(message).values()) for message in self.waiting.values()]
        seconds = [[end_ms, *vars(second).values()] for end_ms, second in self.seconds.items()]
        return json.dumps([self.lanes, self.timer_ms, waiting, seconds], separators=(",", ":"))

    @property
    def empty(self) -> bool:
        return not self.waiting and not self.seconds

    def take(self, message: Message) -> Result | None:
        """Join the message with its counterpart; returns the joined record if that is the stage's result."""
        place = message.timestamp, message.lane
        other = self.waiting.pop(place, None)
        if other is None:
            self.waiting[place] = message
            return None
        flow, speed = (message, other) if message.flow is not None else (other, message)
        assert flow.flow is not None and speed.speed is not None, "a data set contains each pair once"
        if abs(flow.appended_ms - speed.appended_ms) > self.stage.join_bound_ms:
            return None
        self.lanes = flow.lanes
        if self.stage.lookbacks_s is None:
            return {
                "timestamp": flow.timestamp,
                "id": self.id,
                "lane": flow.lane,
                "lanes": flow.lanes,
                "flow": flow.flow,
                "speed": speed.speed,
            }
        second = self.seconds.setdefault((flow.appended_ms // 1000 + 1) * 1000, Second())
        second.n += 1
        second.flow += flow.flow
        second.speeds += speed.speed
        return None

    def settle(self, watermark_ms: int) -> list[Result]:
        """The results to publish now. Drops state that is no longer needed."""
        results = []
        for end_ms, second in self.seconds.items():
            if second.settled:
                continue
            second.settled = self._final_ms(end_ms) <= watermark_ms
            complete = second.n >= self.lanes and not second.published_n
            n = self._needed(end_ms)
            if (complete or second.settled) and n != second.published_n:
                second.published_n = n
                results.append(self._result(end_ms, second, n))
        kept_ms = self.stage.oldest_s * 1000
        self.seconds = {
            end_ms: second for end_ms, second in self.seconds.items() if self._final_ms(end_ms) + kept_ms > watermark_ms
        }
        self.waiting = {
            place: message
            for place, message in self.waiting.items()
            if message.appended_ms + self.stage.join_bound_ms >= watermark_ms
        }
        return results

    def due_ms(self) -> int | None:
        """The watermark at which ``settle`` must be called even if no message arrives."""
        unsettled = [
            self._final_ms(end_ms)
            for end_ms, second in self.seconds.items()
            if not second.settled and self._needed(end_ms) != second.published_n
        ]
        if unsettled:
            return min(unsettled)
        last_ms = max([*self.seconds, *(message.appended_ms for message in self.waiting.values())], default=None)
        return None if last_ms is None else self._final_ms(last_ms) + self.stage.oldest_s * 1000 + IDLE_MS

    def _final_ms(self, end_ms: int) -> int:
        """The watermark at which the second that ends at ``end_ms`` is final."""
        return end_ms + self.stage.join_bound_ms

    def _needed(self, end_ms: int) -> int:
        """The number of joined records in the result of a second."""
        return sum(second.n for back in (0, *self._lookbacks) if (second := self.seconds.get(end_ms - back * 1000)))

    @property
    def _lookbacks(self) -> tuple[int, ...]:
        return self.stage.lookbacks_s or ()

    def _result(self, end_ms: int, second: Second, n: int) -> Result:
        result: Result = {"id": self.id, "window_end_ms": end_ms}
        if not self._lookbacks:
            result |= {"flow": second.flow, "speed": second.speed}
        for back in self._lookbacks:
            before = self.seconds.get(end_ms - back * 1000)
            result[f"flow_change_{back}"] = _change(second.flow, before.flow) if before else None
            result[f"speed_change_{back}"] = _change(second.speed, before.speed) if before else None
        return result | {"n": n}


def _change(now: float, before: float) -> float | None:
    return (now - before) / before if before else None
