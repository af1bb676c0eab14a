"""Distributions of keys, and the data set with them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.workloads.keys import spread
from streamgauge.workloads.traffic.data import Traffic

EVENLY = (np.arange(100_000) + 0.5) / 100_000


def shares(name: str, keys: int) -> np.ndarray:
    return np.bincount(spread(name, keys)(EVENLY), minlength=keys) / len(EVENLY)


def test_hand_worked_distributions() -> None:
    assert shares("uniform", 4) == pytest.approx([0.25] * 4)
    assert shares("one", 4) == pytest.approx([1, 0, 0, 0])
    # 1 : 1/2 : 1/3 : 1/4, of 25/12 in all.
    assert shares("zipf", 4) == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25], abs=1e-4)
    normal = shares("normal", 9)
    assert normal == pytest.approx(normal[::-1], abs=1e-4)
    # Two places off the middle one lie 16/9 standard deviations away: exp(-(16/9)² / 2).
    assert normal[2] / normal[4] == pytest.approx(np.exp(-128 / 81), abs=1e-3)


def test_an_unknown_distribution_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="zipf"):
        Traffic.for_rate(1, 400, "zpif")


@pytest.mark.parametrize("keys", ["uniform", "normal", "zipf", "one"])
def test_records_are_a_function_of_their_number_and_keys_match_the_message(keys: str) -> None:
    dataset = Traffic(7, 40, keys)
    whole = dataset.build(0, 600)
    for stream, part in whole.items():
        assert part.values[30:50] == dataset.build(60, 40)[stream].values
        for n_seq, key, value in zip(*part[:3], strict=True):
            message = json.loads(value)
            assert message["n_seq"] == n_seq
            assert message["id"] == key.decode()
    flow, speed = ([json.loads(value) for value in whole[stream].values] for stream in ("flow", "speed"))
    where = [[(m["timestamp"], m["id"], m["lane"]) for m in messages] for messages in (flow, speed)]
    assert where[0] == where[1], "flow and speed of one lane belong together"
    assert len(set(where[0])) == 300, "(timestamp, id, lane) occurs once"


def test_a_skewed_load_has_one_hot_key() -> None:
    counts = Counter(Traffic(7, 40, "zipf").build(0, 4_000)["flow"].keys)
    assert counts.most_common(1)[0][1] > 2_000 / 8
    assert len(Traffic(7, 40, "one").build(0, 100)["flow"].keys) == 50
    assert len(set(Traffic(7, 40, "one").build(0, 100)["flow"].keys)) == 1
