"""The traffic data set: a pure function of seed and sequence number, shaped like the study's messages."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.workloads.traffic.data import FIRST_TIMESTAMP, MAX_RECORDS, Traffic

seeds = st.integers(min_value=-(2**70), max_value=2**70)
FIELDS = ["n_seq", "id", "lane", "lanes", "timestamp", "value", "period", "accuracy", "lat_e6", "lon_e6"]


def flat(dataset: Traffic, first: int, count: int) -> list[tuple[int, str, bytes, bytes]]:
    """All records in the order in which they are sent."""
    built = dataset.build(first, count)
    return sorted(
        (n_seq, stream, key, value)
        for stream, records in built.items()
        for n_seq, key, value in zip(records.n_seq, records.keys, records.values, strict=True)
    )


def parsed(dataset: Traffic, first: int, count: int) -> list[dict[str, object]]:
    return [json.loads(value) for _, _, _, value in flat(dataset, first, count)]


@settings(deadline=None)
@given(
    seed=seeds,
    points=st.integers(1, 30),
    first=st.integers(0, 10**8),
    chunks=st.lists(st.integers(0, 60), max_size=6),
)
def test_any_split_into_chunks_gives_the_same_records(seed: int, points: int, first: int, chunks: list[int]) -> None:
    dataset = Traffic(seed, points)
    pieces = []
    start = first
    for count in chunks:
        pieces += flat(dataset, start, count)
        start += count
    assert pieces == flat(Traffic(seed, points), first, sum(chunks))
    assert [n_seq for n_seq, *_ in pieces] == list(range(first, start))


@given(
    seed=seeds,
    points=st.integers(10, 300),
    first=st.integers(0, 9)
    | st.integers(9_900, 10_100)
    | st.integers(10**9 - 50, 10**9)
    | st.integers(0, MAX_RECORDS - 100),
)
@settings(max_examples=200, deadline=None)
def test_every_message_is_json_of_180_to_200_bytes(seed: int, points: int, first: int) -> None:
    for n_seq, stream, key, value in flat(Traffic(seed, points), first, 100):
        assert 180 <= len(value) <= 200
        message = json.loads(value)
        value_name = "flow" if n_seq % 2 == 0 else "speed"
        assert stream == value_name
        # The reference of *parse* relies on it.
        assert re.sub(rb'": +', b'":', value) == json.dumps(message, separators=(",", ":")).encode()
        assert list(message) == [value_name if field == "value" else field for field in FIELDS]
        assert message["n_seq"] == n_seq
        assert message["id"].encode() == key
        assert 0 <= message[value_name] <= 130
        assert 80 <= message["accuracy"] <= 100
        assert message["period"] == 60
        assert 50_000_000 < message["lat_e6"] < 54_000_000
        assert 3_000_000 < message["lon_e6"] < 8_000_000


def test_numbers_grow_through_every_width_of_the_field() -> None:
    dataset = Traffic(1, 1000)
    for digits in range(1, 10):
        numbers = [message["n_seq"] for message in parsed(dataset, 10**digits - 3, 6)]
        assert numbers == list(range(10**digits - 3, 10**digits + 3))


def test_a_round_visits_every_lane_of_every_point_once_flow_then_speed() -> None:
    dataset = Traffic(3, 50)
    messages = parsed(dataset, 0, 2 * dataset.lanes)
    pairs = list(zip(messages[::2], messages[1::2], strict=True))
    for flow, speed in pairs:
        assert "flow" in flow and "speed" in speed
        same = ("id", "lane", "lanes", "timestamp", "lat_e6", "lon_e6")
        assert [flow[field] for field in same] == [speed[field] for field in same]
    lanes_of: dict[object, list[object]] = defaultdict(list)
    for flow, _ in pairs:
        lanes_of[flow["id"]].append(flow["lane"])
    assert len(lanes_of) == dataset.points
    ids = [flow["id"] for flow, _ in pairs]
    assert ids == sorted(ids), "the lanes of one point lie next to each other"
    for flow, _ in pairs:
        lanes = lanes_of[flow["id"]]
        assert lanes == [f"lane{number}" for number in range(1, len(lanes) + 1)]
        assert flow["lanes"] == len(lanes)
        assert 1 <= len(lanes) <= 4


def test_timestamp_id_and_lane_occur_once_per_stream_and_rounds_are_a_minute_apart() -> None:
    dataset = Traffic(4, 7)
    seen = set()
    for message in parsed(dataset, 0, 2 * dataset.lanes * 200):
        key = ("flow" in message, message["timestamp"], message["id"], message["lane"])
        assert key not in seen
        seen.add(key)
        elapsed = datetime.fromisoformat(str(message["timestamp"])) - FIRST_TIMESTAMP
        assert elapsed.total_seconds() == 60 * (int(str(message["n_seq"])) // (2 * dataset.lanes))


def test_both_streams_use_the_same_keys() -> None:
    dataset = Traffic(5, 40)
    built = dataset.build(0, 2 * dataset.lanes)
    assert built["flow"].keys == built["speed"].keys


def test_seeds_differ_in_points_and_in_values() -> None:
    one, two = Traffic(1, 100), Traffic(2, 100)
    assert parsed(one, 0, 50) != parsed(two, 0, 50)
    assert one.lanes != two.lanes
    values = [[message["flow"] for message in parsed(t, 0, 400)[::2]] for t in (one, two)]
    assert values[0] != values[1]


def test_a_point_has_three_point_one_seven_messages_per_round() -> None:
    dataset = Traffic(6, 100_000)
    assert 2 * dataset.lanes / dataset.points == pytest.approx(3.17, abs=0.02)


@pytest.mark.parametrize("rate_per_s", [1, 2, 10, 400, 6_000, 100_000])
def test_a_round_takes_about_a_second(rate_per_s: int) -> None:
    dataset = Traffic.for_rate(9, rate_per_s)
    assert abs(2 * dataset.lanes - rate_per_s) <= 8
    assert dataset.points >= 1


def test_the_end_of_the_data_is_an_error() -> None:
    with pytest.raises(UsageError, match="no more records"):
        Traffic(1, 1000).build(MAX_RECORDS - 1, 2)
    with pytest.raises(UsageError, match="measurement point"):
        Traffic(1, 0)
