"""Reads the inputs, delays each record by a known time, and publishes it, altered if the options say so.

For a workload without an output, nothing is published. It has no checkpoint: started again, it continues at the end of
its input.
"""

from __future__ import annotations

import heapq
import json
import math
import re
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

from confluent_kafka import KafkaException

from streamgauge import registry
from streamgauge.codec import Message, Place
from streamgauge.engines.echo.clients import LOOK_S, connect
from streamgauge.protocol import emit, emit_progress, stop_on_sigterm
from streamgauge.queue_protocol import Closed

BIMODAL_EXTRA_MS = 230.0
BIMODAL_SHARE = 0.2
LOGNORMAL_SIGMA = 0.5
LEAST_MEDIAN_MS = 20.0

MOST_AT_ONCE = 2000
CREDIT_S = 0.1
"""How far the pace may catch up after a gap: the client needs about this long to fetch existing records."""
PACE_S = 0.002
"""Under a cap, records are read in small groups this far apart, so that waiting does not keep a core busy."""
PROGRESS_EVERY_S = 0.2

_LAST_DIGIT = re.compile(rb"\d(?=\D*$)")


def delay_of(options: Mapping[str, Any]) -> Callable[[bytes], float]:
    """The delay of a record in seconds, as a function of its bytes: the same record always gets the same delay."""
    fixed_ms = float(options["delay_ms"])
    if options["delay"] == "fixed":
        return lambda _: fixed_ms / 1000
    base_ms = fixed_ms or LEAST_MEDIAN_MS
    seed = int(options["delay_seed"])

    def uniform(value: bytes) -> float:
        return (zlib.crc32(value, seed) + 0.5) / 2**32

    if options["delay"] == "bimodal":
        return lambda value: (base_ms + (BIMODAL_EXTRA_MS if uniform(value) < BIMODAL_SHARE else 0.0)) / 1000
    normal = NormalDist()
    return lambda value: base_ms * math.exp(LOGNORMAL_SIGMA * normal.inv_cdf(uniform(value))) / 1000


def broken_copies(
    options: Mapping[str, Any], n_seq: Place, *, text: bool = True
) -> Callable[[Message], list[bytes | None]]:
    """The values to publish for a record: none (dropped), an altered one, the original twice (duplicated) or once."""
    drop, alter, duplicate = (int(options[f"{what}_every"]) for what in ("drop", "alter", "duplicate"))
    if not (drop or alter or duplicate):
        return lambda message: [message.value]

    def copies(message: Message) -> list[bytes | None]:
        value, number = message.value, n_seq.read(message)
        if number is None:
            return [value]
        nth = number + 1
        if drop and nth % drop == 0:
            return []
        if alter and nth % alter == 0:
            return [altered(value or b"") if text else altered_bytes(value or b"")]
        return [value, value] if duplicate and nth % duplicate == 0 else [value]

    return copies


def altered_bytes(value: bytes) -> bytes:
    """The value with another last byte."""
    return value[:-1] + bytes(byte ^ 1 for byte in value[-1:])


def altered(value: bytes) -> bytes:
    """The value with its last digit changed or, if it has none, its last character."""
    changed, digits = _LAST_DIGIT.subn(lambda digit: b"%d" % ((int(digit[0]) + 1) % 10), value)
    if digits:
        return changed
    text = value.decode(errors="replace")
    return (text[:-1] + ("y" if text.endswith("x") else "x")).encode()


class Pace:
    """Limits the read rate, evenly on an absolute schedule.

    Unused allowance expires: an idle period is not followed by a burst.
    """

    def __init__(self, cap_per_s: int, now_s: float) -> None:
        self._cap_per_s = cap_per_s
        self._since_s = now_s
        self._taken = 0

    def allowed(self, now_s: float) -> int:
        if not self._cap_per_s:
            return MOST_AT_ONCE
        return min(int((now_s - self._since_s) * self._cap_per_s) - self._taken, MOST_AT_ONCE)

    def wait_s(self, now_s: float) -> float:
        """Time until the next record may be read."""
        if not self._cap_per_s:
            return 0.0
        return max(self._since_s + (self._taken + 1) / self._cap_per_s - now_s, 0.0)

    def took(self, count: int, allowed: int, now_s: float) -> None:
        """``count`` of the ``allowed`` records were read."""
        self._taken += count
        if self._cap_per_s and count < allowed:
            unused_s = (now_s - self._since_s) - self._taken / self._cap_per_s
            self._since_s, self._taken = now_s - min(unused_s, CREDIT_S), 0


def run(job: Mapping[str, Any]) -> None:
    asked_to_stop = stop_on_sigterm()
    codec = registry.workload(job["workload"]).codec
    hold, copies = delay_of(job["options"]), broken_copies(job["options"], codec.n_seq, text=codec.text)
    clients = connect(job, headers=codec.needs_headers)
    offsets = clients.start(at_the_end=_started_before(Path(job["checkpoint_dir"])))
    emit("ready")

    waiting: list[tuple[float, int, Message]] = []
    consumed, last_progress_s = 0, time.monotonic()
    pace = Pace(int(job["options"]["cap_per_s"]), last_progress_s)
    while not (asked_to_stop.is_set() and not waiting):
        now = time.monotonic()
        idle_s = min(max(waiting[0][0] - now, 0.0), LOOK_S) if waiting else LOOK_S
        allowed = pace.allowed(now)
        arrived = []
        if allowed > 0:
            arrived = clients.take(allowed, idle_s)
            now = time.monotonic()
            pace.took(len(arrived), allowed, now)
        else:
            time.sleep(min(pace.wait_s(now) + PACE_S, idle_s))
        for stream, partition, next_offset, message in arrived:
            consumed += 1
            offsets[stream][str(partition)] = next_offset
            heapq.heappush(waiting, (now + hold(message.value or b""), consumed, message))
        while waiting and waiting[0][0] <= time.monotonic():
            message = heapq.heappop(waiting)[-1]
            for value in copies(message):
                clients.publish(message, value)
        clients.flush()
        if now - last_progress_s > PROGRESS_EVERY_S:
            last_progress_s = now
            emit_progress(offsets)
    clients.close()
    emit("stopped")


def _started_before(marker: Path) -> bool:
    """Whether this is not the first start, which makes ``marker``."""
    if marker.exists():
        return True
    marker.mkdir(parents=True)
    return False


def main() -> int:
    try:
        run(json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8")))
    except (KafkaException, RuntimeError, OSError, Closed) as problem:
        emit("failed", message=str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
