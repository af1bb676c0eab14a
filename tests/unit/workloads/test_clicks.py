"""Clicks: records as a function of their number, out of order and late as configured."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.codec import Message
from streamgauge.contracts import Records
from streamgauge.model import LoadPlan
from streamgauge.workloads.clicks.data import LATE_FROM_MS, Clicks
from streamgauge.workloads.clicks.parameters import ClickParameters
from streamgauge.workloads.event_time import FIRST_MS

LOAD = LoadPlan(rate_per_s=1000, warmup_s=0, measured_s=20, tail_s=0)
RECORDS = LOAD.records


def clicks(seed: int = 1, load: LoadPlan = LOAD, **changes: int) -> Clicks:
    return Clicks(seed, load, **ClickParameters(**changes).model_dump())


def behind_ms(records: Records) -> list[int]:
    """How far each record's event time is behind the plan."""
    codec = registry.workload("clicks/windowed").codec
    assert codec.event_ms is not None
    messages = [Message(key, value) for key, value in zip(records.keys, records.values, strict=True)]
    assert [codec.n_seq.read(message) for message in messages] == list(records.n_seq)
    return [
        FIRST_MS + LOAD.offset_ns(n) // 1_000_000 - (codec.event_ms.read(message) or 0)
        for n, message in zip(records.n_seq, messages, strict=True)
    ]


def test_a_record_is_a_function_of_its_number() -> None:
    whole, part = clicks().build(0, 300)["clicks"], clicks().build(100, 50)["clicks"]
    assert (part.keys, part.values) == (whole.keys[100:150], whole.values[100:150])
    assert clicks(seed=2).build(0, 300)["clicks"].values != whole.values
    mean = sum(map(len, whole.keys + whole.values)) / 300
    assert mean == pytest.approx(Clicks.record_bytes, rel=0.2)


def test_some_are_out_of_order_and_the_configured_share_is_late() -> None:
    late_ms, in_time_ms = 9000, []
    late = 0
    for n, behind in enumerate(behind_ms(clicks(late_percent=10, late_ms=late_ms).build(0, RECORDS)["clicks"])):
        if behind == late_ms:
            assert LOAD.offset_ns(n) >= LATE_FROM_MS * 1_000_000
            late += 1
        else:
            in_time_ms.append(behind)
    assert (min(in_time_ms), max(in_time_ms)) == (0, 250)
    assert late / (RECORDS - LATE_FROM_MS) == pytest.approx(0.1, abs=0.01)


def test_without_late_records_and_without_disorder() -> None:
    assert set(behind_ms(clicks(late_percent=0, out_of_order_ms=0).build(0, 5000)["clicks"])) == {0}


def test_pages_are_the_keys() -> None:
    assert len(set(clicks(pages=7).build(0, 1000)["clicks"].keys)) == 7


def test_a_load_without_a_schedule_has_event_times_too() -> None:
    load = LoadPlan(rate_per_s=0, warmup_s=0, measured_s=0, tail_s=0, shape="preloaded", preloaded=50_000)
    values = clicks(load=load, late_percent=0, out_of_order_ms=0).build(0, 50_000)["clicks"].values
    assert int(values[-1].split(b"\t")[1]) == FIRST_MS + 4999


def test_late_records_are_clearly_late() -> None:
    with pytest.raises(ValidationError, match="late_ms must be at least"):
        ClickParameters(late_ms=2000, out_of_order_ms=500)
    assert ClickParameters(late_ms=0, late_percent=0).late_ms == 0
