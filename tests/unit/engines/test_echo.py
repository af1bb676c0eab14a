import json
from statistics import median

from streamgauge.engines.echo import EchoOptions
from streamgauge.engines.echo.program import broken_copies, delay_of


def record(n_seq: int) -> bytes:
    return b'{"n_seq":%10d,"flow": 12,"lon_e6": 4123459}' % n_seq


def options(**changes: object) -> dict[str, object]:
    return EchoOptions.model_validate(changes).model_dump()


def test_breaks_exactly_what_it_is_told_to() -> None:
    copies = broken_copies(options(drop_every=10, alter_every=15, duplicate_every=7))
    published = [copies(record(n)) for n in range(2100)]
    dropped = [n for n, out in enumerate(published) if not out]
    altered = [n for n, out in enumerate(published) if len(out) == 1 and out[0] != record(n)]
    doubled = [n for n, out in enumerate(published) if len(out) == 2]
    assert dropped == list(range(9, 2100, 10))
    assert altered == [n for n in range(14, 2100, 15) if n not in dropped]
    assert doubled == [n for n in range(6, 2100, 7) if n not in dropped and n not in altered]


def test_an_altered_record_keeps_its_number() -> None:
    (altered,) = broken_copies(options(alter_every=1))(record(41))
    assert json.loads(altered) == {"n_seq": 41, "flow": 12, "lon_e6": 4123450}


def test_delays_are_known() -> None:
    values = [record(n) for n in range(20_000)]
    assert delay_of(options(delay_ms=20.0))(values[0]) == 0.020
    bimodal = [delay_of(options(delay="bimodal", delay_seed=3))(value) for value in values]
    assert set(bimodal) == {0.020, 0.250}
    assert abs(sum(delay > 0.1 for delay in bimodal) / len(bimodal) - 0.2) < 0.02
    lognormal = [delay_of(options(delay="lognormal", delay_ms=50.0))(value) for value in values]
    assert abs(median(lognormal) - 0.050) < 0.002


def test_the_seed_decides_who_waits() -> None:
    values = [record(n) for n in range(1000)]
    first, again, other = (
        [delay_of(options(delay="bimodal", delay_seed=seed))(value) for value in values] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
