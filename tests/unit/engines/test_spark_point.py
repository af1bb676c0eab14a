"""The customised stages, message by message and against their definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engines.spark.workloads.traffic.point import IDLE_MS, Message, Point, Result, Stage

BOUND_MS = 1000


def flow(timestamp: str, lane: str, value: int, at_ms: int, lanes: int = 2) -> Message:
    return Message(timestamp, lane, lanes, value, None, at_ms)


def speed(timestamp: str, lane: str, value: int, at_ms: int, lanes: int = 2) -> Message:
    return Message(timestamp, lane, lanes, None, value, at_ms)


def pair(timestamp: str, lane: str, cars: int, kmh: int, at_ms: int) -> list[Message]:
    return [flow(timestamp, lane, cars, at_ms), speed(timestamp, lane, kmh, at_ms + 1)]


def batch(point: Point, messages: Sequence[Message] = (), watermark_ms: int = 0) -> list[Result]:
    """One batch, followed by a round trip of the state."""
    results = [joined for message in messages if (joined := point.take(message))]
    results += point.settle(watermark_ms)
    again = Point.load(point.id, point.stage, point.dump())
    assert again == point
    return results


def test_join_publishes_at_once_whichever_comes_first() -> None:
    point = Point("p", Stage(BOUND_MS))
    expected = {"timestamp": "t", "id": "p", "lane": "lane1", "lanes": 2, "flow": 3, "speed": 80}
    assert batch(point, [speed("t", "lane1", 80, 5)]) == []
    assert batch(point, [flow("t", "lane1", 3, 6)]) == [expected]
    assert point.empty and point.due_ms() is None


def test_join_matches_messages_within_the_bound_only() -> None:
    point = Point("p", Stage(BOUND_MS))
    assert len(batch(point, [flow("t", "lane1", 3, 0), speed("t", "lane1", 80, BOUND_MS)])) == 1
    assert batch(point, [flow("u", "lane1", 3, 0), speed("u", "lane1", 80, BOUND_MS + 1)]) == []
    assert batch(point, [flow("v", "lane1", 3, 0), speed("v", "lane2", 80, 0), speed("w", "lane1", 80, 0)]) == []


def test_a_message_waits_as_long_as_its_counterpart_may_arrive() -> None:
    point = Point("p", Stage(BOUND_MS))
    assert batch(point, [flow("t", "lane1", 3, 100)], watermark_ms=100 + BOUND_MS) == []
    assert not point.empty
    assert len(batch(point, [speed("t", "lane1", 80, 100 + BOUND_MS)])) == 1
    batch(point, [flow("u", "lane1", 3, 100)], watermark_ms=101 + BOUND_MS)
    assert point.empty


def test_a_second_is_published_when_all_lanes_are_in_it() -> None:
    point = Point("p", Stage(BOUND_MS, ()))
    assert batch(point, pair("t", "lane1", 3, 80, 200)) == []
    expected = {"id": "p", "window_end_ms": 1000, "flow": 7, "speed": 85.0, "n": 2}
    assert batch(point, pair("t", "lane2", 4, 90, 210)) == [expected]
    assert batch(point, watermark_ms=1000 + BOUND_MS) == []


def test_a_second_is_published_again_if_records_were_added_since() -> None:
    point = Point("p", Stage(BOUND_MS, ()))
    batch(point, pair("t", "lane1", 3, 80, 200) + pair("t", "lane2", 4, 90, 210))
    assert batch(point, pair("u", "lane1", 5, 70, 900), watermark_ms=400) == []
    assert point.due_ms() == 1000 + BOUND_MS
    assert batch(point, watermark_ms=999 + BOUND_MS) == []
    expected = {"id": "p", "window_end_ms": 1000, "flow": 12, "speed": 80.0, "n": 3}
    assert batch(point, watermark_ms=1000 + BOUND_MS) == [expected]


def test_an_incomplete_second_is_published_at_the_watermark() -> None:
    point = Point("p", Stage(BOUND_MS, ()))
    batch(point, pair("t", "lane1", 3, 80, 200))
    assert [result["n"] for result in batch(point, watermark_ms=1000 + BOUND_MS)] == [1]


def test_changes_against_earlier_seconds() -> None:
    point = Point("p", Stage(BOUND_MS, (1, 2)))
    for second, (cars, kmh) in enumerate([(4, 50), (0, 40), (6, 100)]):
        published = batch(
            point,
            pair(f"{second}", "lane1", cars, kmh, second * 1000) + pair(f"{second}", "lane2", cars, kmh, second * 1000),
        )
        if not second:
            assert [published[0][name] for name in published[0] if "change" in name] == [None] * 4
    assert published == [
        {
            "id": "p",
            "window_end_ms": 3000,
            "flow_change_1": None,  # no cars a second before
            "speed_change_1": 1.5,
            "flow_change_2": 0.5,
            "speed_change_2": 1.0,
            "n": 6,
        }
    ]


def test_a_change_is_published_again_when_the_earlier_second_changed() -> None:
    point = Point("p", Stage(BOUND_MS, (1, 2)))
    batch(point, pair("t", "lane1", 3, 80, 900) + pair("t", "lane2", 3, 80, 910))
    batch(point, pair("u", "lane1", 6, 80, 1900) + pair("u", "lane2", 6, 80, 1910))
    batch(point, pair("v", "lane1", 6, 80, 990))
    published = batch(point, watermark_ms=2000 + BOUND_MS)
    assert [(result["window_end_ms"], result["flow_change_1"], result["n"]) for result in published] == [
        (1000, None, 3),
        (2000, 0.0, 5),
    ]


def test_state_is_bounded_and_dropped_when_the_point_is_silent() -> None:
    point = Point("p", Stage(BOUND_MS, (4, 9)))
    most = 0
    for second in range(100):
        at_ms = second * 1000
        batch(point, pair(f"{second}", "lane1", 1, 1, at_ms) + pair(f"{second}", "lane2", 1, 1, at_ms), at_ms - 500)
        most = max(most, len(point.seconds))
    assert most <= 13
    due_ms = point.due_ms()
    assert due_ms == 100_000 + BOUND_MS + 9_000 + IDLE_MS
    assert batch(point, watermark_ms=due_ms) == [] and point.empty


# Pairs of one point: when the flow message comes, how much later the speed message, cars, km/h.
PAIRS = st.lists(
    st.tuples(st.integers(0, 6_000), st.integers(-1_200, 1_200), st.integers(0, 3), st.integers(1, 100)), max_size=25
)


@given(pairs=PAIRS, batch_ms=st.integers(100, 3_000), lookbacks_s=st.sampled_from([(), (1, 2), (4, 9)]))
def test_the_last_result_matches_the_definition(
    pairs: list[tuple[int, int, int, int]], batch_ms: int, lookbacks_s: tuple[int, ...]
) -> None:
    messages = [
        message
        for name, (at_ms, later_ms, cars, kmh) in enumerate(pairs)
        for message in (
            flow(str(name), "lane1", cars, 2000 + at_ms),
            speed(str(name), "lane1", kmh, 2000 + at_ms + later_ms),
        )
    ]
    point = Point("p", Stage(BOUND_MS, lookbacks_s))
    published: dict[int, Result] = {}
    for start_ms in range(0, 40_000, batch_ms):
        arrived = [message for message in messages if start_ms <= message.appended_ms < start_ms + batch_ms]
        for result in batch(point, arrived, watermark_ms=start_ms - 500):
            published[result["window_end_ms"]] = result
    assert published == by_definition(pairs, lookbacks_s)
    assert point.empty


def by_definition(pairs: list[tuple[int, int, int, int]], lookbacks_s: tuple[int, ...]) -> dict[int, Result]:
    seconds: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for at_ms, later_ms, cars, kmh in pairs:
        if abs(later_ms) <= BOUND_MS:
            seconds[((2000 + at_ms) // 1000 + 1) * 1000].append((cars, kmh))
    sums = {
        end: (sum(cars for cars, _ in rows), sum(kmh for _, kmh in rows) / len(rows), len(rows))
        for end, rows in seconds.items()
    }
    results: dict[int, Result] = {}
    for end, (cars, kmh, n) in sums.items():
        row: dict[str, Any] = {"id": "p", "window_end_ms": end}
        if not lookbacks_s:
            row |= {"flow": cars, "speed": kmh}
        for back in lookbacks_s:
            then = sums.get(end - back * 1000)
            row[f"flow_change_{back}"] = (cars - then[0]) / then[0] if then and then[0] else None
            row[f"speed_change_{back}"] = (kmh - then[1]) / then[1] if then else None
            n += then[2] if then else 0
        results[end] = {**row, "n": n}
    return results
