"""Purchases and ads: binary records as a function of their number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.codec import Message
from streamgauge.contracts import Records
from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan
from streamgauge.studies import scenario as scenarios
from streamgauge.workloads.event_time import FIRST_MS
from streamgauge.workloads.games.data import AD, PURCHASE, USERS
from streamgauge.workloads.games.parameters import AggregationParameters, JoinParameters, WindowParameters

LOAD = LoadPlan(rate_per_s=3000, warmup_s=0, measured_s=20, tail_s=0)


def build(name: str, first: int = 0, count: int = 20_000, seed: int = 1, **changes: Any) -> dict[str, Records]:
    workload = registry.workload(f"games/{name}")
    parameters = workload.parameters(**changes).model_dump()
    return dict(workload.dataset(parameters, seed, LOAD).build(first, count))


def fields(records: Records, kind: np.dtype[np.void]) -> np.ndarray[Any, Any]:
    return np.frombuffer(b"".join(records.values), kind)


def test_a_record_is_a_function_of_its_number() -> None:
    for name in ("aggregation", "join"):
        whole, part = build(name, 0, 300), build(name, 100, 51)
        for stream, records in part.items():
            pairs = zip(whole[stream].n_seq, whole[stream].values, strict=True)
            kept = {n: value for n, value in pairs if 100 <= n < 151}
            assert dict(zip(records.n_seq, records.values, strict=True)) == kept
        assert build(name, 0, 300, seed=2) != whole


def test_event_times_are_those_of_the_plan_to_the_millisecond() -> None:
    purchases = fields(build("aggregation")["purchases"], PURCHASE)
    assert purchases["event_ms"].tolist() == [FIRST_MS + LOAD.offset_ns(n) // 1_000_000 for n in range(20_000)]


def test_the_codec_finds_number_and_event_time() -> None:
    codec = registry.workload("games/join").codec
    assert codec.event_ms is not None and not codec.text
    for stream, kind in (("purchases", PURCHASE), ("ads", AD)):
        records = build("join", 0, 100)[stream]
        known = fields(records, kind)
        messages = [Message(key, value) for key, value in zip(records.keys, records.values, strict=True)]
        assert [codec.n_seq.read(message) for message in messages] == known["n_seq"].tolist() == list(records.n_seq)
        assert [codec.event_ms.read(message) for message in messages] == known["event_ms"].tolist()
        assert {len(value) for value in records.values} == {kind.itemsize}


def test_purchases_and_ads_take_turns() -> None:
    built = build("join", 0, 10)
    assert {stream: list(records.n_seq) for stream, records in built.items()} == {
        "purchases": [0, 2, 4, 6, 8],
        "ads": [1, 3, 5, 7, 9],
    }
    assert set(build("aggregation", 0, 10)) == {"purchases"}


@pytest.mark.parametrize("percent", [0, 1, 20, 100])
def test_the_chosen_share_of_purchases_follows_an_ad(percent: int) -> None:
    built = build("join", selectivity_percent=float(percent))
    purchases, ads = fields(built["purchases"], PURCHASE), fields(built["ads"], AD)
    shown = {(ad["user"], ad["gem_pack"]): ad["n_seq"] for ad in ads}
    follow = [(p, shown[p["user"], p["gem_pack"]]) for p in purchases if (p["user"], p["gem_pack"]) in shown]
    assert len(follow) / len(purchases) == pytest.approx(percent / 100, abs=0.01)
    assert all(ad == purchase["n_seq"] - 1 for purchase, ad in follow)
    assert (ads["user"] < USERS).all() and (purchases["user"] >= 0).all()


def test_gem_packs_are_normally_distributed_or_all_the_same() -> None:
    packs = fields(build("aggregation", gem_packs=101)["purchases"], PURCHASE)["gem_pack"]
    assert (packs.min() >= 0, packs.max() <= 100) == (True, True)
    assert packs.mean() == pytest.approx(50, abs=1) and packs.std() == pytest.approx(101 / 8, abs=1)
    skewed = fields(build("aggregation", keys="one")["purchases"], PURCHASE)["gem_pack"]
    assert len(set(skewed.tolist())) == 1


def test_one_gem_pack_is_no_skew_of_a_join() -> None:
    with pytest.raises(ValidationError, match="keys=one is for the aggregation only: a join is by user and gem pack"):
        JoinParameters(keys="one")
    for name in ("sustainable/join", "sustainable/fluctuating"):
        changes = {"keys": "one"} | ({"program": "join"} if name.endswith("fluctuating") else {})
        with pytest.raises(UsageError, match="keys=one is for the aggregation only"):
            scenarios.resolve(name, engine="flink", changes=changes)


def test_prices_are_whole_numbers_from_1_to_100() -> None:
    prices = fields(build("aggregation")["purchases"], PURCHASE)["price"]
    assert (prices.min(), prices.max()) == (1, 100)


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="window_s 8 must be a multiple of slide_s 3"):
        WindowParameters(slide_s=3)
    with pytest.raises(ValidationError, match="a record would be in more than 60 windows"):
        JoinParameters(window_s=61, slide_s=1)
    assert AggregationParameters(window_s=60, slide_s=60).evaluation == "incremental"


def test_results_are_final_when_the_window_has_ended() -> None:
    parameters = WindowParameters(window_s=60, slide_s=60, out_of_order_ms=50, partition_skew_ms=450).model_dump()
    assert registry.workload("games/aggregation").settles_s(parameters) == 60.5
