"""Judges the running results of one slice, with what must be known of the slices before it.

Carried from slice to slice are, for each key, how many contributions there were, the largest ``n`` of a right result
and the last result; the contributions of records that are not answered yet; and results that are ahead of the
contributions recorded so far. Slices are cut by the moment of the append, so every result of a slice comes after those
of the slices before, and the outcome is that of the whole run (docs/reference/measurement.md, *Slices*).

In numpy: beside a system under test, joins and windows of Spark would take several times as much CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.evaluate import tally
from streamgauge.evaluate.slices.tables import read_table
from streamgauge.evaluate.tally import Bools, Ints

if TYPE_CHECKING:
    import pyarrow as pa

NONE = -1
"""In place of a moment or a number that is not there."""
_N_BITS = 40
"""Key and ``n`` as one number: more contributions to a key than a run of a week can have."""

_KEYS = ("count", "answered_n", "last_n", "last_ms", "top_n_seq")
"""``last_n`` is 0 where the last result has no number; ``top_n_seq``: the record of the last contribution."""
_OPEN = ("rank", "n_seq", "appended_ms", "intended_ns", "partition_bit", "covered_ms", "right_outputs")
_EARLY = ("n", "emitted_ms", "place")


@dataclass(frozen=True)
class Carried:
    """Tables whose rows have a key, as text."""

    keys: pa.Table
    open: pa.Table
    """Contributions of records that are not decided; ``covered_ms``: when a result came that counts it."""
    early: pa.Table
    """Results that are ahead."""

    @classmethod
    def none(cls) -> Carried:
        return cls(*(_table(np.zeros(0, object), {name: [] for name in names}) for names in (_KEYS, _OPEN, _EARLY)))

    @classmethod
    def read(cls, directory: Path) -> Carried:
        columns = zip(PARTS, (_KEYS, _OPEN, _EARLY), strict=True)
        return cls(*(read_table(directory / f"{name}.parquet", ["key", *names]) for name, names in columns))

    def write(self, directory: Path) -> None:
        import pyarrow.parquet as pq

        for name in PARTS:
            pq.write_table(getattr(self, name), directory / f"{name}.parquet")


PARTS = ("keys", "open", "early")


@dataclass(frozen=True)
class Judged:
    records: pa.Table
    """Those that are decided, as ``running.judge`` gives them."""
    carried: Carried
    repeated: int
    """Right results of contributions whose records were decided in an earlier slice."""
    lost_later: int = 0
    """Contributions of earlier slices that the last result of their key no longer counts."""
    wrong_later: int = 0
    """Records of earlier slices that hold the last contribution of a key whose last result is wrong."""

    @property
    def open_records(self) -> int:
        return len(np.unique(self.carried.open.column("n_seq").to_numpy()))


def judge(new: pa.Table, results: pa.Table, before: Carried, *, last: bool) -> Judged:
    """``new``: the contributions of the slice (key, n_seq, appended_ms, partition, offset, intended_ns,
    partition_bit); ``results``: key, n, emitted_ms, place. In the last slice of a run everything is decided."""
    text, codes = _coded(before.keys, before.open, before.early, new, results)
    of_keys, of_open, of_early, of_new, of_results = codes
    keys = {name: _padded(before.keys.column(name).to_numpy(), len(text), fill) for name, fill in _FILL.items()}
    assert (of_keys == np.arange(len(of_keys))).all()
    given = _ranked(new, of_new, keys["count"])
    contributions = {name: np.concatenate([before.open.column(name).to_numpy(), given[name]]) for name in _OPEN}
    code = np.concatenate([of_open, given["code"]])
    _count(keys, given)
    found = {name: _numbers(results, name, 0 if name == "n" else NONE) for name in _EARLY}
    _note_last(keys, of_results, found)
    every = {name: np.concatenate([before.early.column(name).to_numpy(), found[name]]) for name in _EARLY}
    of_every = np.concatenate([of_early, of_results])
    numbered = (of_every != NONE) & (every["n"] >= 1)
    right = numbered & (every["n"] <= keys["count"][of_every])
    places, times, right_ms = _right(of_every[right], every["n"][right], every["emitted_ms"][right])
    place = (code << _N_BITS) + contributions["rank"]
    _cover(contributions, code, place, places, times, right_ms)
    repeated = int(times[~np.isin(places, place)].sum())
    answered_before = keys["answered_n"].copy()
    np.maximum.at(keys["answered_n"], of_every[right], every["n"][right])
    ahead = numbered & ~right
    early = _table(text[of_every[ahead]], {name: column[ahead] for name, column in every.items()})
    if last:
        lost, wrong = _later(contributions, code, keys, answered_before)
        records, _ = _by_record(contributions, _fates(contributions, code, keys), keys["last_ms"][code])
        return Judged(records, Carried(_table(text, keys), Carried.none().open, early), repeated, lost, wrong)
    covered = contributions["covered_ms"] != NONE
    fates = np.where(covered, tally.MATCHED, tally.MISSING)
    records, decided = _by_record(contributions, fates, np.full(len(code), NONE), only_answered=True)
    rest = {name: column[~decided] for name, column in contributions.items()}
    return Judged(records, Carried(_table(text, keys), _table(text[code[~decided]], rest), early), repeated)


_FILL = {"count": 0, "answered_n": 0, "last_n": 0, "last_ms": NONE, "top_n_seq": NONE}


def _table(key: Any, columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    numbers = {name: pa.array(np.asarray(column, np.int64)) for name, column in columns.items()}
    return pa.table({"key": pa.array(key, pa.string()), **numbers})


def _coded(*tables: pa.Table) -> tuple[Any, list[Ints]]:
    """The different keys, those of the first table first, and the place of each row's key; NONE where it has none."""
    import pyarrow as pa

    chunks = [chunk.cast(pa.string()) for table in tables for chunk in table.column("key").chunks]
    coded = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
    places = np.asarray(coded.indices.fill_null(NONE).to_numpy(zero_copy_only=False), np.int64)
    ends = np.cumsum([len(table) for table in tables])
    return coded.dictionary.to_numpy(zero_copy_only=False), np.split(places, ends[:-1])


def _padded(values: Ints, length: int, fill: int) -> Ints:
    return np.concatenate([values, np.full(length - len(values), fill, np.int64)])


def _numbers(table: pa.Table, name: str, fill: int) -> Ints:
    return np.asarray(table.column(name).fill_null(fill).to_numpy(), np.int64)


def _ranked(new: pa.Table, code: Ints, count: Ints) -> dict[str, Ints]:
    """The contributions of the slice in their order, each with its rank."""
    columns = {
        name: _numbers(new, name, NONE)
        for name in ("n_seq", "appended_ms", "partition", "offset", "intended_ns", "partition_bit")
    }
    order = np.lexsort((columns.pop("offset"), columns.pop("partition"), columns["appended_ms"], code))
    columns, code = {name: column[order] for name, column in columns.items()}, code[order]
    first = np.searchsorted(code, code, side="left")
    return {
        **columns,
        "code": code,
        "rank": count[code] + np.arange(len(code)) - first + 1,
        "covered_ms": np.full(len(code), NONE),
        "right_outputs": np.zeros(len(code), np.int64),
    }


def _count(keys: dict[str, Ints], given: dict[str, Ints]) -> None:
    """Add the contributions of the slice, which are in order."""
    keys["top_n_seq"][given["code"]] = given["n_seq"]
    keys["count"] += np.bincount(given["code"], minlength=len(keys["count"]))


def _note_last(keys: dict[str, Ints], code: Ints, found: dict[str, Ints]) -> None:
    """The last result of each key, also one without a number."""
    order = np.lexsort((found["place"], found["emitted_ms"], code))
    order = order[code[order] != NONE]
    keys["last_n"][code[order]] = found["n"][order]
    keys["last_ms"][code[order]] = found["emitted_ms"][order]


def _right(code: Ints, n: Ints, emitted_ms: Ints) -> tuple[Ints, Ints, Ints]:
    """The different places (key and ``n``) of right results, rising; how many each has, and when the first one came of
    this ``n`` or a larger one."""
    place = (code << _N_BITS) + n
    order = np.lexsort((emitted_ms, place))
    places, first, times = np.unique(place[order], return_index=True, return_counts=True)
    if not len(places):
        return places, times, places
    first_ms = emitted_ms[order][first]
    # From the largest n of a key down; each further key lies lower than all before, so that it starts over.
    number = np.unique(places >> _N_BITS, return_inverse=True)[1]
    keys_before = number[-1] - number
    low_ms = int(first_ms.min())
    step = int(first_ms.max()) - low_ms + 1
    shifted = first_ms - low_ms - keys_before * step
    lowest = np.minimum.accumulate(shifted[::-1])[::-1]
    return places, times, lowest + keys_before * step + low_ms


def _cover(contributions: dict[str, Ints], code: Ints, place: Ints, places: Ints, times: Ints, right_ms: Ints) -> None:
    """Note when each contribution was first counted by a right result, and how many results have its rank as ``n``."""
    if not len(places):
        return
    at = np.minimum(np.searchsorted(places, place), len(places) - 1)
    of_key = (places[at] >= place) & (places[at] >> _N_BITS == code)
    covered_ms = contributions["covered_ms"]
    contributions["covered_ms"] = np.where((covered_ms == NONE) & of_key, right_ms[at], covered_ms)
    contributions["right_outputs"] = contributions["right_outputs"] + np.where(places[at] == place, times[at], 0)


def _ends_right(keys: dict[str, Ints]) -> Bools:
    return (keys["last_n"] >= 1) & (keys["last_n"] <= keys["count"])


def _fates(contributions: dict[str, Ints], code: Ints, keys: dict[str, Ints]) -> Ints:
    """At the end of the run; as in ``running``."""
    ends_right, rank = _ends_right(keys)[code], contributions["rank"]
    missing = (keys["last_ms"][code] == NONE) | (ends_right & (rank > keys["last_n"][code]))
    wrong = ~ends_right & ((rank == keys["count"][code]) | (contributions["covered_ms"] == NONE))
    return np.where(missing, tally.MISSING, np.where(wrong, tally.WRONG, tally.MATCHED))


def _later(contributions: dict[str, Ints], code: Ints, keys: dict[str, Ints], answered: Ints) -> tuple[int, int]:
    """See ``Judged``. ``answered``: the largest right ``n`` of each key in the slices before."""
    ends_right, last_n, rank = _ends_right(keys), keys["last_n"], contributions["rank"]
    fallen = np.where(ends_right & (last_n < answered), answered - last_n, 0)
    here = ends_right[code] & (rank > last_n[code]) & (rank <= answered[code])
    wrong = np.unique(keys["top_n_seq"][~ends_right & (keys["last_ms"] != NONE) & (keys["count"] > 0)])
    return int(fallen.sum() - here.sum()), int((~np.isin(wrong, contributions["n_seq"])).sum())


def _by_record(
    contributions: dict[str, Ints], fates: Ints, last_ms: Ints, *, only_answered: bool = False
) -> tuple[pa.Table, Bools]:
    """One row for each record, as ``running.judge`` gives it; and which contributions are those of these records."""
    import pyarrow as pa

    order = np.argsort(contributions["n_seq"], kind="stable")
    n_seq, begins = np.unique(contributions["n_seq"][order], return_index=True)

    def reduced(how: Any, values: Any) -> Ints:
        return np.asarray(how.reduceat(values[order], begins), np.int64) if len(begins) else np.zeros(0, np.int64)

    wrong, missing = (
        reduced(np.maximum, (fates == fate).astype(np.int64)) > 0 for fate in (tally.WRONG, tally.MISSING)
    )
    fate = np.where(wrong, tally.WRONG, np.where(missing, tally.MISSING, tally.MATCHED))
    chosen = ~missing if only_answered else np.ones(len(n_seq), np.bool_)
    covered_ms, right = contributions["covered_ms"], contributions["right_outputs"]
    answered_ms = reduced(np.maximum, np.where(covered_ms == NONE, last_ms, covered_ms))[chosen]
    appended_ms = reduced(np.maximum, contributions["appended_ms"])[chosen]
    rows = int(chosen.sum())
    columns: dict[str, Any] = {
        "fate": fate[chosen],
        "appended_max_ms": appended_ms,
        "intended_max_ns": reduced(np.maximum, contributions["intended_ns"])[chosen],
        "partitions": reduced(np.maximum, contributions["partition_bit"])[chosen],
        "answered_ms": pa.array(answered_ms, mask=answered_ms == NONE),
        "outputs": reduced(np.add, right)[chosen],
        "duplicates": reduced(np.add, np.maximum(right - 1, 0))[chosen],
        "last_wrong_ms": pa.nulls(rows, pa.int64()),
        "appended_min_ms": appended_ms,
        "appended_mean_ms": appended_ms.astype(np.float64),
        **dict.fromkeys(("inputs", "new_inputs"), np.ones(rows, np.int64)),
        **dict.fromkeys(("intermediate", "reverted", "repeated"), np.zeros(rows, np.int64)),
    }
    decided = np.isin(contributions["n_seq"], n_seq[chosen])
    return pa.table(columns), decided
