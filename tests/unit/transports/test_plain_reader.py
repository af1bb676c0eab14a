"""How fast a broker serves its records, with a reader that keeps to its contract and counts what it was asked for."""

from __future__ import annotations

from streamgauge.transports.kafka.plain_reader import served_per_s


class Reader:
    """Has so many records. Being asked for more would mean to wait."""

    def __init__(self, records: int) -> None:
        self.left = records
        self.asked: list[int] = []

    def consume(self, number: int, timeout: float) -> list[object]:
        self.asked.append(number)
        given = min(number, self.left)
        self.left -= given
        return [object()] * given


def test_it_asks_for_no_more_than_there_are() -> None:
    reader = Reader(25_001)
    served = served_per_s(reader, 25_001, 60.0)
    assert served is not None and served > 0
    assert reader.asked == [1, 10_000, 10_000, 5_000]


def test_the_first_record_alone_shows_no_speed() -> None:
    assert served_per_s(Reader(1), 1, 60.0) is None


def test_a_broker_that_serves_nothing_is_not_read_for_ever() -> None:
    assert served_per_s(Reader(0), 5, 0.01) is None
