import json
from collections.abc import Callable
from statistics import median
from typing import Any, ClassVar

import pytest

from streamgauge import registry
from streamgauge.codec import BinaryField, JsonField, Message, MessageKey, Place
from streamgauge.engines.echo import EchoOptions
from streamgauge.engines.echo.clients import KafkaClients
from streamgauge.engines.echo.program import (
    CREDIT_S,
    MOST_AT_ONCE,
    Pace,
    altered,
    altered_bytes,
    broken_copies,
    delay_of,
)

TRAFFIC = JsonField("n_seq")


def record(n_seq: int) -> bytes:
    return b'{"n_seq":%10d,"flow": 12,"lon_e6": 4123459}' % n_seq


def traffic(n_seq: int) -> Message:
    return Message(b"point", record(n_seq))


def search(n_seq: int) -> Message:
    return Message(b"%d" % n_seq, b"user\tsome words\tat noon\t\t")


def options(**changes: object) -> dict[str, object]:
    return EchoOptions.model_validate(changes).model_dump()


@pytest.mark.parametrize(("place", "message"), [(TRAFFIC, traffic), (MessageKey(), search)])
def test_drops_alters_and_duplicates_as_configured(place: Place, message: Callable[[int], Message]) -> None:
    copies = broken_copies(options(drop_every=10, alter_every=15, duplicate_every=7), place)
    published = [copies(message(n)) for n in range(2100)]
    dropped = [n for n, out in enumerate(published) if not out]
    changed = [n for n, out in enumerate(published) if len(out) == 1 and out[0] != message(n).value]
    doubled = [n for n, out in enumerate(published) if len(out) == 2]
    assert dropped == list(range(9, 2100, 10))
    assert changed == [n for n in range(14, 2100, 15) if n not in dropped]
    assert doubled == [n for n in range(6, 2100, 7) if n not in dropped and n not in changed]


def test_a_record_without_a_number_is_unchanged() -> None:
    copies = broken_copies(options(drop_every=1), TRAFFIC)
    assert copies(search(0)) == [search(0).value]


def test_an_altered_record_keeps_its_number() -> None:
    (changed,) = broken_copies(options(alter_every=1), TRAFFIC)(traffic(41))
    assert json.loads(changed or b"") == {"n_seq": 41, "flow": 12, "lon_e6": 4123450}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"a 19 b", b"a 10 b"),
        (b"some words", b"some wordx"),
        (b"tax", b"tay"),
        ("Fluß".encode(), b"Flux"),
        (b"no rank\t\t", b"no rank\tx"),
        (b"", b"x"),
    ],
)
def test_altered_in_the_last_digit_or_character(value: bytes, expected: bytes) -> None:
    assert altered(value) == expected


def test_waits_for_a_full_queue() -> None:
    class Queue:
        held = 2
        published: ClassVar[list[tuple[str, bytes, bytes]]] = []

        def produce(self, topic: str, *, value: bytes, key: bytes) -> None:
            if self.held == 2:
                raise BufferError
            self.published.append((topic, key, value))

        def poll(self, timeout_s: float) -> None:
            self.held -= 1

    clients = KafkaClients.__new__(KafkaClients)
    queue: Any = Queue()
    clients._producer, clients._output = queue, "o"
    clients.publish(Message(b"k", None), b"v")
    assert queue.published == [("o", b"k", b"v")]


def test_every_workload_is_supported_or_a_gap_with_a_reason() -> None:
    traits = registry.engine("echo").traits
    copied = {"traffic/ingest", "traffic/parse", "streambench/identity", "games/identity"}
    assert traits.workloads == copied | {"streambench/sink", "power/sink"}
    assert traits.workloads | set(traits.gaps) == registry.engine_workloads()
    assert not traits.workloads & set(traits.gaps)


def test_delays_follow_the_distribution() -> None:
    values = [record(n) for n in range(20_000)]
    assert delay_of(options(delay_ms=20.0))(values[0]) == 0.020
    bimodal = [delay_of(options(delay="bimodal", delay_seed=3))(value) for value in values]
    assert set(bimodal) == {0.020, 0.250}
    assert abs(sum(delay > 0.1 for delay in bimodal) / len(bimodal) - 0.2) < 0.02
    lognormal = [delay_of(options(delay="lognormal", delay_ms=50.0))(value) for value in values]
    assert abs(median(lognormal) - 0.050) < 0.002


def test_the_seed_decides_which_records_wait() -> None:
    values = [record(n) for n in range(1000)]
    first, again, other = (
        [delay_of(options(delay="bimodal", delay_seed=seed))(value) for value in values] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def consumed_under(
    cap_per_s: int, there: Callable[[float, int], int], seconds: float, step_s: float = 0.01
) -> list[int]:
    """Records read by the end of each step; ``there(now, taken)`` returns how many are available."""
    pace, consumed, counts = Pace(cap_per_s, 100.0), 0, []
    for step in range(round(seconds / step_s)):
        now = 100.0 + step * step_s
        allowed = pace.allowed(now)
        if allowed > 0:
            count = min(allowed, there(now - 100.0, consumed))
            pace.took(count, allowed, now)
            consumed += count
        counts.append(consumed)
    return counts


def test_a_backlog_is_taken_at_the_cap_and_evenly() -> None:
    counts = consumed_under(5000, lambda now, consumed: 10**9, seconds=20)
    assert abs(counts[-1] - 100_000) <= 100
    each_second = [counts[at + 100] - counts[at] for at in range(0, 1800, 100)]
    assert max(each_second) - min(each_second) <= 100


def test_a_late_fetch_is_caught_up() -> None:
    """The client sometimes returns nothing for 80 ms although the topic has records."""
    counts = consumed_under(5000, lambda now, consumed: 0 if now % 1 < 0.08 else 10**9, seconds=20)
    assert abs(counts[-1] - 100_000) <= 500


def test_an_idle_period_is_not_followed_by_a_burst() -> None:
    counts = consumed_under(1000, lambda now, consumed: 0 if now < 10 else 10**9, seconds=12)
    assert counts[999] == 0
    assert counts[1001] <= 1000 * CREDIT_S + 50
    assert counts[-1] <= 2000 + 1000 * CREDIT_S + 50


def test_without_a_cap_everything_is_taken() -> None:
    assert consumed_under(0, lambda now, consumed: 10**9, seconds=1)[-1] == 100 * MOST_AT_ONCE


def test_bytes_keep_their_length_and_all_but_the_last() -> None:
    assert altered_bytes(b"5\xff\x00\x31") == b"5\xff\x00\x30"
    assert altered_bytes(b"") == b""
    copies = broken_copies(options(alter_every=1), BinaryField(0), text=False)
    record_of_numbers = (7).to_bytes(8, "little") + b"0123"
    assert copies(Message(None, record_of_numbers)) == [record_of_numbers[:-1] + b"2"]
