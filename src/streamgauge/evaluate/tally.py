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
"""A missing row is lost when a row that is anchored this much later came out."""

_INTS = (
    "phase",
    "fate",
    "part",
    "second",
    "appended_second",
    "answered_second",
    "missing_anchor_ms",
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
    "repeated_keys",
    "anchor_max_ms",
    "in_burst",
    "answered_max_ms",
)


@dataclass(frozen=True)
class Tally:
    """One element per group of equal reference rows. Latencies are those of matched rows; elsewhere they mean nothing.

    ``second`` is that of the anchor, ``answered_second`` that of the answer (the first right one, for a wrong row the
    first one), all since the start of the load. ``inputs`` counts the input records behind the rows, ``new_inputs``
    those of them that are behind no earlier row, ``open_at_end`` those of the new ones that were appended but not
    answered when the load ended, ``unexpected`` the outputs of keys that the reference does not have. ``in_burst`` is 1
    where all inputs lie in a single burst, ``answered_max_ms`` the moment of the last answer.
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
    rows: Ints
    inputs: Ints
    new_inputs: Ints
    open_at_end: Ints
    outputs: Ints
    duplicates: Ints
    intermediate: Ints
    reverted: Ints
    in_burst: Ints
    answered_max_ms: Ints
    repeated_keys: int
    unexpected: int

    @classmethod
    def of(cls, table: pa.Table, *, quiet: bool, outputs: int) -> Tally:
        """Decide what only the whole run can tell: lost or unfinished, and how many outputs have no key in it."""
        ints: dict[str, Ints] = {
            name: np.asarray(table.column(name).fill_null(0).to_numpy(), dtype=np.int64) for name in _INTS
        }
        anchor_max_ms = ints.pop("anchor_max_ms")
        missing_anchor_ms = ints.pop("missing_anchor_ms")
        fate = ints["fate"].copy()
        came_out = (fate == MATCHED) | (fate == WRONG)
        last_out_ms = anchor_max_ms[came_out].max(initial=np.iinfo(np.int64).min + LATER_MS)
        lost = quiet | (missing_anchor_ms <= last_out_ms - LATER_MS)
        fate[fate == MISSING] = np.where(lost, LOST, UNFINISHED)[fate == MISSING]
        return cls(
            **{
                **ints,
                "fate": fate,
                "average_ms": np.asarray(table.column("average_ms").fill_null(0).to_numpy(), dtype=np.float64),
                "repeated_keys": int(ints["repeated_keys"].sum()),
                # An output of a repeated key was counted for each of its rows.
                "unexpected": max(outputs - int(ints["outputs"].sum()), 0),
            }  # type: ignore[arg-type]  # the names are checked by the constructor
        )

    @classmethod
    def empty(cls) -> Tally:
        """Of a run that has no records."""
        columns: dict[str, Any] = {name: np.zeros(0, np.int64) for name in _INTS}
        del columns["anchor_max_ms"], columns["missing_anchor_ms"]
        return cls(**{**columns, "average_ms": np.zeros(0), "repeated_keys": 0, "unexpected": 0})

    @property
    def expected(self) -> Bools:
        """Reference rows that count: those anchored before the tail."""
        return np.isin(self.phase, (WARMUP, MEASURED))

    @property
    def timed(self) -> Bools:
        """Rows whose latency counts."""
        found: Bools = (self.phase == MEASURED) & (self.fate == MATCHED)
        return found


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
