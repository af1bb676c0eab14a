"""How late each record of the load left, and whether that makes the run INVALID."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.notices import Notice, notice
from streamgauge.rundir import LEDGER_COLUMNS as COLUMNS
from streamgauge.rundir import RunDir
from streamgauge.stored import damaged

LATE_MS, LATE_SHARE = 200.0, 0.25
OFTEN_MS, OFTEN_SHARE, OFTEN_RECORDS = 20.0, 0.05, 0.01
SENT_SHARE = 0.999


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
        files = sorted((run.path / "ledger").glob("worker-*.parquet"))
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


def measure(ledger: Ledger, late: Lateness, facts: Facts, moments: Moments, median_ms: float | None) -> Generator:
    """Figures and limits; the limits depend on the median latency, where there is one."""
    late_limit_ms, often_limit_ms = limits_ms(median_ms)
    start_ns, end_ns = moments.measured_start_ns, moments.observed_end_ns
    first, end = (facts.plan.count_before(moment - moments.load_start_ns) for moment in (start_ns, end_ns))
    measured = (late.n_seq >= first) & (late.n_seq < end)
    late_ns = late.late_ns[measured]
    intended_ns = late.sent_ns - late.late_ns
    second = np.clip((intended_ns - moments.load_start_ns) // NS_PER_S, 0, moments.seconds - 1)
    worst = np.full(moments.seconds, np.iinfo(np.int64).min)
    np.maximum.at(worst, second, late.late_ns)
    inside = (late.sent_ns >= start_ns) & (late.sent_ns < end_ns)
    whole = int(moments.observed_s)
    by_second = np.bincount((late.sent_ns[inside] - start_ns) // NS_PER_S, minlength=whole)[:whole]
    sent_second = np.clip((ledger.sent_ns - moments.load_start_ns) // NS_PER_S, 0, moments.seconds - 1)
    sent_per_second = np.zeros(moments.seconds, np.int64)
    np.add.at(sent_per_second, sent_second, ledger.count)
    in_measured = (ledger.first < end) & (ledger.first + ledger.count > first)
    return Generator(
        offered=end - first,
        sent=int(inside.sum()),
        sent_in_time=int((late.sent_ns[measured] <= end_ns + late_limit_ms * NS_PER_MS).sum()),
        errors=int(ledger.errors.sum()),
        errors_measured=int(ledger.errors[in_measured].sum()),
        late_ms=Distribution.of(late_ns / NS_PER_MS, np.ones(len(late_ns), np.int64)),
        often_late=int((late_ns > often_limit_ms * NS_PER_MS).sum()),
        late_limit_ms=late_limit_ms,
        often_limit_ms=often_limit_ms,
        worst_second=int(by_second.min()) if whole else None,
        latest_second=int(second[measured][np.argmax(late_ns)]) if len(late_ns) else 0,
        sent_per_second=sent_per_second,
        late_max_per_second=[None if ns == np.iinfo(np.int64).min else ns / NS_PER_MS for ns in worst.tolist()],
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
