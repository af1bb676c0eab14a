"""How fast a broker serves its records, by the statistics of a client that are given here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from streamgauge.transports.kafka import plain_reader
from streamgauge.transports.kafka.plain_reader import served_per_s

START_US = 1_000_000


class Reader:
    """Reports what it has read after so many milliseconds, one report for each poll."""

    def __init__(self, reports: list[tuple[int, int]], stats_cb: Callable[[str], None]) -> None:
        self._reports, self._report = iter(reports), stats_cb
        self.assigned: list[tuple[str, int]] = []
        self.polls = 0
        self.closed = False

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(one.topic, one.partition) for one in partitions]

    def poll(self, timeout: float) -> None:
        self.polls += 1
        if report := next(self._reports, None):
            after_ms, read = report
            self._report(json.dumps({"ts": START_US + 1000 * after_ms, "rxmsgs": read}))

    def close(self) -> None:
        self.closed = True


def read(ends: dict[tuple[str, int], int], *reports: tuple[int, int]) -> tuple[float | None, Reader | None]:
    made: list[Reader] = []

    def new_reader(*, stats_cb: Callable[[str], None], **settings: Any) -> Reader:
        made.append(Reader(list(reports), stats_cb))
        return made[-1]

    return served_per_s(new_reader, ends, most_s=0.2, first_s=0.2), made[0] if made else None


def test_what_came_after_the_first_records_is_timed_until_the_last_came() -> None:
    """5,000 come with the connection; 20,000 more within 40 ms; the same number again is no progress."""
    rate, reader = read({("a", 0): 25_000}, (10, 0), (30, 5_000), (50, 5_000), (60, 15_000), (70, 25_000), (99, 25_000))
    assert rate == pytest.approx(500_000)
    assert reader is not None and reader.closed
    assert reader.polls == 5, "it stops when everything is there"


def test_every_partition_is_read() -> None:
    _, reader = read({("a", 0): 5, ("a", 1): 0, ("b", 0): 5}, (1, 3), (2, 10))
    assert reader is not None
    assert reader.assigned == [("a", 0), ("a", 1), ("b", 0)]


def test_a_long_topic_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_reader, "RECORDS_MOST", 300)
    rate, reader = read({("a", 0): 10_000}, (0, 100), (100, 300), (200, 900))
    assert rate == pytest.approx(2000)
    assert reader is not None and reader.polls == 2


def test_a_broker_that_stops_serving_is_not_read_for_ever() -> None:
    rate, reader = read({("a", 0): 10_000}, (0, 100), (100, 300))
    assert rate == pytest.approx(2000)
    assert reader is not None and reader.closed


@pytest.mark.parametrize("reports", [(), ((10, 0),), ((10, 500),)], ids=["nothing", "no record", "all at once"])
def test_there_is_no_rate_without_two_moments(reports: tuple[tuple[int, int], ...]) -> None:
    assert read({("a", 0): 500}, *reports)[0] is None


def test_an_empty_topic_is_not_read() -> None:
    assert read({("a", 0): 0}) == (None, None)
