"""Each limit of the generator, just kept and just broken."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tallies import START_NS, facts

from streamgauge.errors import UsageError
from streamgauge.evaluate.metrics import generator
from streamgauge.evaluate.metrics.generator import Generator, Ledger, LedgerProblem
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.rundir import RunDir

SLICE = 10


def ledger(late_ms: dict[int, float] | None = None, errors: dict[int, int] | None = None) -> Ledger:
    """1000 records/s for 12 s, in slices of ten; lateness and errors by number of slice."""
    slices = np.arange(1200)
    late_ns = np.zeros(1200, np.int64)
    error_counts = np.zeros(1200, np.int64)
    for number, ms in (late_ms or {}).items():
        late_ns[number] = round(ms * NS_PER_MS)
    for number, count in (errors or {}).items():
        error_counts[number] = count
    first = slices * SLICE
    # A slice leaves when its last record is due, so its first one is 9 ms late.
    sent_ns = START_NS + (first + SLICE - 1) * NS_PER_MS + late_ns
    return Ledger(first, np.full(1200, SLICE), sent_ns, first, sent_ns + NS_PER_MS, error_counts)


def measured(sent: Ledger, median_ms: float | None = None) -> Generator:
    known, moments = facts()
    return generator.measure(sent, known, moments, median_ms)


def reasons(sent: Ledger, median_ms: float | None = None) -> list[str]:
    return generator.reasons(measured(sent, median_ms), facts()[1])


def test_lateness_of_each_record() -> None:
    figures = measured(ledger())
    assert figures.offered == 10_000
    assert (figures.late_ms.count, figures.late_ms.max, figures.late_ms.percentile(500)) == (10_000, 9.0, 4.5)
    assert (figures.sent, figures.worst_second) == (10_000, 1000)
    assert figures.sent_per_second.tolist() == [1000] * 12 + [0] * 5
    assert figures.late_max_per_second == [9.0] * 12 + [None] * 5
    assert reasons(ledger()) == []
    assert generator.warnings(figures) == []


def test_a_long_ledger_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = ledger({number: number % 7 for number in range(1200)} | {700: 150.0})
    whole = measured(sent)
    monkeypatch.setattr(Ledger.parts, "__defaults__", (997,))
    parts = [*sent.parts()]
    assert len(parts) == 13 and sum(int(part.count.sum()) for part in parts) == 12_000
    assert max(int(part.count.sum()) for part in parts) <= 1000
    in_parts = measured(sent)
    assert whole.latest_second == 7
    for name, figure in vars(whole).items():
        if name == "late_ms":
            assert figure.figures() == in_parts.late_ms.figures()
        else:
            np.testing.assert_array_equal(figure, getattr(in_parts, name), name)


def test_a_ledger_without_a_slice() -> None:
    figures = measured(Ledger.empty())
    assert (figures.sent, figures.late_ms.count, figures.worst_second, figures.latest_second) == (0, 0, 0, 0)


def test_a_record_too_late() -> None:
    assert reasons(ledger({500: 191.0})) == []
    assert generator.warnings(measured(ledger({500: 191.0}))) == [
        "the generator was up to 200.0 ms late, worst in second 5 of the load"
    ]
    assert reasons(ledger({500: 191.1})) == [
        "the generator was 200.1 ms late in second 5 of the load; the limit is 200.0 ms"
    ]
    assert reasons(ledger({500: 191.1}), median_ms=1000.0) == []
    assert reasons(ledger({99: 900.0})) == [], "the warm-up does not count"


def test_too_many_late() -> None:
    # A slice that is 11.1 ms late has one record later than 20 ms.
    exactly = {200 + n: 11.1 for n in range(100)}
    assert reasons(ledger(exactly)) == []
    assert reasons(ledger({**exactly, 300: 11.1})) == [
        "the generator was more than 20.0 ms late for 1.01 % of the records; the limit is 1 %"
    ]
    assert reasons(ledger({**exactly, 300: 11.1}), median_ms=500.0) == []


def test_too_few_sent() -> None:
    sent = ledger()
    keep = np.ones(1200, bool)
    keep[500] = False

    def without(mask: np.ndarray) -> Ledger:
        return Ledger(*(getattr(sent, field.name)[mask] for field in dataclasses.fields(Ledger)))

    assert reasons(without(keep)) == []  # 99.9 %
    keep[501] = False
    assert reasons(without(keep)) == [
        "the generator sent 9980 of the 10000 records of the measured interval in time; the limit is 99.9 %"
    ]
    assert measured(without(keep)).worst_second == 980


def test_a_run_that_was_cut_short_is_not_blamed_on_the_generator() -> None:
    known, moments = facts()
    moments = dataclasses.replace(moments, drain_end_ns=START_NS + 5 * NS_PER_S)
    sent = ledger()
    half = Ledger(*(getattr(sent, field.name)[:499] for field in dataclasses.fields(Ledger)))
    figures = generator.measure(half, known, moments, None)
    assert figures.offered == 4000
    assert generator.reasons(figures, moments) == []


def test_delivery_errors() -> None:
    assert reasons(ledger(errors={500: 2})) == ["2 records of the measured interval could not be delivered"]
    outside = ledger(errors={3: 2})
    assert reasons(outside) == []
    assert generator.warnings(measured(outside)) == ["2 records outside the measured interval could not be delivered"]


def test_no_ledger_and_a_broken_one(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    with pytest.raises(LedgerProblem, match="left no ledger"):
        Ledger.read(run)
    run.ledger(0).write_bytes(b"PAR1 and then nothing")
    with pytest.raises(UsageError, match="ledger is damaged"):
        Ledger.read(run)
