"""How late each record of the load left, and whether that makes the run INVALID."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.latency import Distribution, added
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.notices import Notice, notice
from streamgauge.rundir import LEDGER_COLUMNS as COLUMNS
from streamgauge.rundir import RunDir
from streamgauge.stored import damaged

LATE_MS, LATE_SHARE = 200.0, 0.25
OFTEN_MS, OFTEN_SHARE, OFTEN_RECORDS = 20.0, 0.05, 0.01
SENT_SHARE = 0.999
PART_RECORDS = 4_000_000
"""So many records are looked at one by one at a time: all of a long run would not fit into memory."""
NS_PER_US = US_PER_MS = 1_000
_NONE = np.iinfo(np.int64).min


class LedgerProblem(Exception):
    """The load worker left no ledger."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(notice)
        self.notice = notice


@dataclass(frozen=True)
class Ledger:
    """One element per slice, in the order in which it was sent."""

    first: Ints
    count: Ints
    sent_ns: Ints
    acked_n: Ints
    acked_ns: Ints
    errors: Ints

    @classmethod
    def empty(cls) -> Ledger:
        return cls(*(np.zeros(0, np.int64) for _ in COLUMNS))

    @classmethod
    def read(cls, run: RunDir) -> Ledger:
        """All workers' slices. Raises LedgerProblem when there is none, UsageError when it is damaged."""
        files = run.ledgers()
        if not files:
            raise LedgerProblem(notice("no-ledger"))
        return cls.of(run, files)

    @classmethod
    def of(cls, run: RunDir, files: Sequence[Path]) -> Ledger:
        """The content of these files of it. Raises UsageError when it is damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not files:
            return cls.empty()
        try:
            table = pa.concat_tables([pq.read_table(file, columns=list(COLUMNS)) for file in files])
            columns = [np.asarray(table.column(name).to_numpy(), dtype=np.int64) for name in COLUMNS]
        except (OSError, KeyError, ValueError, pa.ArrowException) as problem:
            got = f"cannot be read: {str(problem).splitlines()[0]}"
            raise damaged(run.path / "ledger", got, f"the columns {', '.join(COLUMNS)}, whole numbers") from None
        if any((column < 0).any() for column in columns):
            raise damaged(run.path / "ledger", "a number below 0", "counts and moments")
        order = np.argsort(columns[2], kind="stable")
        return cls(*(column[order] for column in columns))

    def parts(self, records: int = PART_RECORDS) -> Iterator[Ledger]:
        """One after the other, each with about so many records at most; one of an empty ledger."""
        part = np.cumsum(self.count) // records
        for places in np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1):
            yield Ledger(*(column[places] for column in vars(self).values()))

    def among(self, first: int, end: int) -> Ints:
        """How many of the records ``first`` to ``end`` − 1 each slice has."""
        among: Ints = np.maximum(np.minimum(self.first + self.count, end) - np.maximum(self.first, first), 0)
        return among


@dataclass(frozen=True)
class Lateness:
    """Sent − intended of every record that was sent, in the order of the ledger."""

    n_seq: Ints
    late_ns: Ints
    sent_ns: Ints

    @classmethod
    def of(cls, ledger: Ledger, facts: Facts, moments: Moments) -> Lateness:
        starts = np.cumsum(ledger.count) - ledger.count
        n_seq = np.repeat(ledger.first - starts, ledger.count) + np.arange(ledger.count.sum())
        sent_ns = np.repeat(ledger.sent_ns, ledger.count)
        if not facts.plan.scheduled:
            # Without a schedule no record is late: it was meant to leave when it did.
            return cls(n_seq, np.zeros(len(n_seq), np.int64), sent_ns)
        return cls(n_seq, sent_ns - moments.load_start_ns - facts.plan.offsets_ns(n_seq), sent_ns)


@dataclass(frozen=True)
class Generator:
    """What the generator did in the measured interval."""

    offered: int
    sent: int
    """Records that left in the interval, whenever they should have."""
    sent_in_time: int
    """Records of the interval that left at all, not later than the limit after its end."""
    errors: int
    errors_measured: int
    late_ms: Distribution
    often_late: int
    late_limit_ms: float
    often_limit_ms: float
    worst_second: int | None
    """Fewest records that left in a whole second of the interval."""
    latest_second: int
    """The second since the start of the load in which a record of the interval was latest."""
    sent_per_second: Ints
    late_max_per_second: list[float | None]


def limits_ms(median_ms: float | None) -> tuple[float, float]:
    """How late a single record may be, and more than a few; both depend on the median latency, where there is one."""
    return max(LATE_MS, LATE_SHARE * (median_ms or 0.0)), max(OFTEN_MS, OFTEN_SHARE * (median_ms or 0.0))


@dataclass(frozen=True)
class _Late:
    """What can only be seen record by record."""

    late: Distribution
    """Lateness of the records of the measured interval, in multiples of ``unit_ns``."""
    often: int
    latest: tuple[int, int]
    """The largest of them in nanoseconds, and the second of the run in which that record was due."""
    max_ns_by_second: Ints
    """Of the records that were due in each second; ``_NONE`` where none was."""

    @classmethod
    def of(
        cls, ledger: Ledger, facts: Facts, moments: Moments, measured: range, often_limit_ms: float, unit_ns: int
    ) -> _Late:
        late = Lateness.of(ledger, facts, moments)
        intended_ns = late.sent_ns - late.late_ns
        second = np.clip((intended_ns - moments.load_start_ns) // NS_PER_S, 0, moments.seconds - 1)
        worst = np.full(moments.seconds, _NONE)
        np.maximum.at(worst, second, late.late_ns)
        is_measured = (late.n_seq >= measured.start) & (late.n_seq < measured.stop)
        late_ns, of_second = late.late_ns[is_measured], second[is_measured]
        latest = int(np.argmax(late_ns)) if len(late_ns) else None
        return cls(
            late=counted(late_ns, unit_ns),
            often=int((late_ns > often_limit_ms * NS_PER_MS).sum()),
            latest=(_NONE, 0) if latest is None else (int(late_ns[latest]), int(of_second[latest])),
            max_ns_by_second=worst,
        )


def counted(late_ns: Ints, unit_ns: int) -> Distribution:
    """In multiples of the unit, so that many records have few values."""
    return Distribution.of(np.round(late_ns / unit_ns), np.ones(len(late_ns), np.int64))


def measure(ledger: Ledger, facts: Facts, moments: Moments, median_ms: float | None) -> Generator:
    """Figures and limits; the limits depend on the median latency, where there is one."""
    late_limit_ms, often_limit_ms = limits_ms(median_ms)
    start_ns, end_ns = moments.measured_start_ns, moments.observed_end_ns
    measured = range(*(facts.plan.count_before(moment - moments.load_start_ns) for moment in (start_ns, end_ns)))
    # To the nanosecond where all records fit into memory, else to the microsecond.
    unit_ns = 1 if ledger.count.sum() < PART_RECORDS else NS_PER_US
    parts = [_Late.of(part, facts, moments, measured, often_limit_ms, unit_ns) for part in ledger.parts()]
    late = added([part.late for part in parts])
    worst = np.max([part.max_ns_by_second for part in parts], axis=0)
    inside = (ledger.sent_ns >= start_ns) & (ledger.sent_ns < end_ns)
    whole = int(moments.observed_s)
    seconds_since = (ledger.sent_ns[inside] - start_ns) // NS_PER_S
    by_second = np.bincount(seconds_since, ledger.count[inside], minlength=whole)[:whole]
    sent_second = np.clip((ledger.sent_ns - moments.load_start_ns) // NS_PER_S, 0, moments.seconds - 1)
    sent_per_second = np.zeros(moments.seconds, np.int64)
    np.add.at(sent_per_second, sent_second, ledger.count)
    of_measured = ledger.among(measured.start, measured.stop)
    return Generator(
        offered=len(measured),
        sent=int(ledger.count[inside].sum()),
        sent_in_time=int(of_measured[ledger.sent_ns <= end_ns + late_limit_ms * NS_PER_MS].sum()),
        errors=int(ledger.errors.sum()),
        errors_measured=int(ledger.errors[of_measured > 0].sum()),
        late_ms=Distribution(late.values / (NS_PER_MS // unit_ns), late.counts),
        often_late=sum(part.often for part in parts),
        late_limit_ms=late_limit_ms,
        often_limit_ms=often_limit_ms,
        worst_second=int(by_second.min()) if whole else None,
        latest_second=max(part.latest for part in parts)[1],
        sent_per_second=sent_per_second,
        late_max_per_second=[None if ns == _NONE else ns / NS_PER_MS for ns in worst.tolist()],
    )


def reasons(generator: Generator, moments: Moments) -> list[Notice]:
    """Why the generator makes the run INVALID; empty when it does not."""
    why = []
    late_max_ms = generator.late_ms.max or 0.0
    if late_max_ms > generator.late_limit_ms:
        why.append(
            notice(
                "generator-late",
                late_ms=late_max_ms,
                second=generator.latest_second,
                limit_ms=generator.late_limit_ms,
            )
        )
    if generator.often_late > OFTEN_RECORDS * generator.late_ms.count:
        why.append(
            notice(
                "generator-often-late",
                often_ms=generator.often_limit_ms,
                percent=100 * generator.often_late / generator.late_ms.count,
                limit=100 * OFTEN_RECORDS,
            )
        )
    # Where the run was cut short (its engine died), the generator was stopped and is not to blame.
    if not moments.cut_short and generator.sent_in_time < SENT_SHARE * generator.offered:
        why.append(
            notice(
                "generator-sent-too-little",
                sent=generator.sent_in_time,
                offered=generator.offered,
                limit=100 * SENT_SHARE,
            )
        )
    if generator.errors_measured:
        why.append(notice("undelivered", count=generator.errors_measured))
    return why


def warnings(generator: Generator) -> list[Notice]:
    """What the reader should know although it is within the limits."""
    messages = []
    late_max_ms = generator.late_ms.max or 0.0
    if OFTEN_MS < late_max_ms <= generator.late_limit_ms:
        messages.append(notice("generator-nearly-late", late_ms=late_max_ms, second=generator.latest_second))
    if generator.errors and not generator.errors_measured:
        messages.append(notice("undelivered-outside", count=generator.errors))
    return messages
