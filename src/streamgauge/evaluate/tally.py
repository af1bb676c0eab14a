"""The outcome of the match, counted: how many results share the same fate and the same latencies.

Everything that is reported of results is computed from this table in numpy, so it is exact and the same
whatever order Spark delivered it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WARMUP, MEASURED, TAIL = range(3)
MATCHED, WRONG, MISSING, LOST, UNFINISHED = range(5)

LATER_MS = 10_000
"""A missing row is lost when, in every partition that holds one of its inputs, one this much later was answered."""
PARTITIONS_MAX = 62
"""Of all inputs together: as many fit into a 64-bit number, one bit each."""

_INTS = (
    "phase",
    "fate",
    "part",
    "second",
    "appended_second",
    "answered_second",
    "partitions",
    "total_ms",
    "latest_ms",
    "rows",
    "inputs",
    "new_inputs",
    "open_at_end",
    "outputs",
    "duplicates",
    "intermediate",
    "reverted",
    "wrong_before_fault",
    "repeated_keys",
    "appended_rest_ms",
    "answered_rest_ms",
    "appended_min_ms",
    "appended_max_ms",
    "in_burst",
    "answered_max_ms",
)


@dataclass(frozen=True)
class Tally:
    """One element per group of equal reference rows.

    Latencies of missing rows are those that they had reached at the end of the drain; of wrong ones they mean nothing.
    ``processing_time_ms`` is NaN where the transport does not know when it handed a record to the engine.
    ``second`` is that of the anchor, ``answered_second`` that of the answer (the first right one, for a wrong row the
    first one), all since the start of the load. ``inputs`` counts the input records behind the rows, ``new_inputs``
    those of them that are behind no earlier row, ``open_at_end`` those of the new ones that were appended but not
    answered when the load ended, ``unexpected`` the outputs of keys that the reference does not have. ``in_burst`` is 1
    where all inputs lie in a single burst, ``answered_max_ms`` the moment of the last answer. ``appended_rest_ms`` and
    ``answered_rest_ms`` are the milliseconds that followed in the second of the append, or of the answer, summed over
    the new inputs. ``wrong_before_fault`` counts the wrong rows whose last output came before the first fault, all of
    them where there was none.

    ``running`` is whether results are running totals. A record that a total leaves out shows only in the end, by the
    last record of its key: that one counts, even in the tail. A wrong row of totals is one before the first fault where
    any result of its key was wrong before; ``miscounted`` are the unexpected results of the keys that end with it.
    """

    phase: Ints
    fate: Ints
    part: Ints
    second: Ints
    appended_second: Ints
    answered_second: Ints
    total_ms: Ints
    latest_ms: Ints
    average_ms: Floats
    processing_time_ms: Floats
    rows: Ints
    inputs: Ints
    new_inputs: Ints
    open_at_end: Ints
    outputs: Ints
    duplicates: Ints
    intermediate: Ints
    reverted: Ints
    wrong_before_fault: Ints
    in_burst: Ints
    answered_max_ms: Ints
    appended_rest_ms: Ints
    answered_rest_ms: Ints
    repeated_keys: int
    unexpected: int
    miscounted: Ints
    running: bool = False

    @classmethod
    def of(cls, table: pa.Table, *, quiet: bool, outputs: int, running: bool = False) -> Tally:
        """Decide what only the whole run shows: lost or unfinished, and how many outputs have no key in it."""
        ints: dict[str, Ints] = {
            name: np.asarray(table.column(name).fill_null(0).to_numpy(), dtype=np.int64) for name in _INTS
        }
        partitions, appended_min_ms, appended_max_ms = (
            ints.pop(name) for name in ("partitions", "appended_min_ms", "appended_max_ms")
        )
        fate = ints["fate"].copy()
        came_out = (fate == MATCHED) | (fate == WRONG)
        passed_ms = _passed_ms(partitions, partitions[came_out], appended_min_ms[came_out])
        lost = quiet | (appended_max_ms <= passed_ms - LATER_MS)
        fate[fate == MISSING] = np.where(lost, LOST, UNFINISHED)[fate == MISSING]
        # A total has no intermediate results: one that its contributions do not give is unexpected.
        none = np.zeros_like(fate)
        intermediate, miscounted = (none, ints["intermediate"]) if running else (ints["intermediate"], none)
        return cls(
            **{
                **ints,
                "intermediate": intermediate,
                "miscounted": miscounted,
                "fate": fate,
                "average_ms": np.asarray(table.column("average_ms").fill_null(0).to_numpy(), dtype=np.float64),
                "processing_time_ms": _known(table, "processing_time_ms"),
                "repeated_keys": int(ints["repeated_keys"].sum()),
                # An output of a repeated key was counted for each of its rows.
                "unexpected": max(outputs - int(ints["outputs"].sum()), 0),
                "running": running,
            }  # type: ignore[arg-type]  # the names are checked by the constructor
        )

    @classmethod
    def empty(cls) -> Tally:
        """Of a run that has no records."""
        columns: dict[str, Any] = {name: np.zeros(0, np.int64) for name in _INTS}
        for name in ("partitions", "appended_min_ms", "appended_max_ms"):
            del columns[name]
        floats = {name: np.zeros(0) for name in ("average_ms", "processing_time_ms")}
        return cls(**{**columns, **floats, "repeated_keys": 0, "unexpected": 0, "miscounted": np.zeros(0, np.int64)})

    @property
    def expected(self) -> Bools:
        """Reference rows that count: those anchored before the tail, and totals that end too low or wrong."""
        before_tail: Bools = np.isin(self.phase, (WARMUP, MEASURED))
        return before_tail | np.isin(self.fate, (LOST, WRONG)) if self.running else before_tail

    @property
    def unexpected_after_fault(self) -> int:
        """Unexpected results of keys that end wrong, where nothing of them was wrong before the first fault."""
        return int(self.miscounted[(self.fate == WRONG) & (self.wrong_before_fault == 0)].sum())

    @property
    def timed(self) -> Bools:
        """Rows whose latency is known and counts."""
        selected: Bools = (self.phase == MEASURED) & (self.fate == MATCHED)
        return selected

    @property
    def censored(self) -> Bools:
        """Rows whose latency counts, and is only known to be at least what it had reached at the end."""
        selected: Bools = (self.phase == MEASURED) & np.isin(self.fate, (LOST, UNFINISHED))
        return selected


def _known(table: pa.Table, name: str) -> Floats:
    """A column of floating-point numbers, in which NaN stands for what is not known."""
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.asarray(table.column(name).cast("float64").fill_null(np.nan).to_numpy(), dtype=np.float64)


def _passed_ms(sets: Ints, answered_sets: Ints, answered_ms: Ints) -> Ints:
    """For each set of partitions the moment up to which, in every one of them, inputs were certainly answered.

    ``answered_ms`` is when the first input of an answered row was appended: all of its partitions have come that far.
    """
    passed_ms = np.full(len(sets), np.iinfo(np.int64).max)
    for bit in range(PARTITIONS_MAX):
        holds = (sets >> bit) & 1 == 1
        if holds.any():
            reached_ms = answered_ms[(answered_sets >> bit) & 1 == 1].max(initial=np.iinfo(np.int64).min + LATER_MS)
            passed_ms[holds] = np.minimum(passed_ms[holds], reached_ms)
    # Where nothing is known of the partitions, nothing is certain.
    passed_ms[sets == 0] = np.iinfo(np.int64).min + LATER_MS
    return passed_ms


def wrong_after_fault(tally: Tally) -> int:
    """Expected rows that are wrong and whose last output came after the first fault; 0 where there was none."""
    expected = tally.expected
    wrong = int(tally.rows[expected & (tally.fate == WRONG)].sum())
    return wrong - int(tally.wrong_before_fault[expected].sum())


def answered_inputs(tally: Tally) -> int:
    """How many input records have a result, right or wrong."""
    return int(tally.new_inputs[np.isin(tally.fate, (MATCHED, WRONG))].sum())


def answered_until_ms(tally: Tally) -> int | None:
    """When the last input with a result was appended; None where results are missing or wrong, or there are none."""
    if not len(tally.fate) or (tally.fate != MATCHED).any():
        return None
    return int((tally.answered_max_ms - tally.latest_ms).max())


def results(tally: Tally) -> dict[str, int]:
    """The counts of the summary: reference rows by fate, and ``reverted`` of them; the others count output rows."""
    expected = tally.expected

    def count(fate: int) -> int:
        return int(tally.rows[expected & (tally.fate == fate)].sum())

    return {
        "expected": int(tally.rows[expected].sum()),
        "matched": count(MATCHED),
        "wrong": count(WRONG),
        "lost": count(LOST),
        "unfinished": count(UNFINISHED),
        "duplicates": int(tally.duplicates[expected].sum()),
        "intermediate": int(tally.intermediate[expected].sum()),
        "reverted": int(tally.reverted[expected].sum()),
        "unexpected": tally.unexpected,
    }
