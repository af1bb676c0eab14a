"""The slices of a run that is evaluated while it goes on: ``bounds.json`` and ``figures.json`` of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.stored import Count, Moment, Number, Stored


class SliceBounds(Stored):
    """Which records a slice holds: of each partition of each stream those from ``begins`` to below ``ends``.

    They were appended from the end of the slice before to ``until_ms``, by the transport's stamps; those of the last
    slice until the end of the run.
    """

    number: Count
    until_ms: Moment | None
    begins: Mapping[str, Mapping[str, Count]]
    ends: Mapping[str, Mapping[str, Count]]
    load_start_ns: Moment
    last: bool = False


class Window(Stored):
    """The results of the records that were due in ``slice_s`` seconds of the run."""

    second: Count
    """The first of them."""
    count: Count
    p50_ms: Number | None
    p99_ms: Number | None
    max_ms: Number | None


class SliceFigures(Stored):
    """What a slice adds to the run. Whatever is not here is in the files beside it."""

    number: Count
    until_ms: Moment | None
    last: bool
    inputs: Count
    outputs: Count
    appended_measured: Count
    output_measured: Count
    first_output_ms: Moment | None
    last_output_ms: Moment | None
    """Of this slice and all before."""
    gaps_ms: Sequence[tuple[Moment, Moment]]
    """From one result to the next, where a second or more (or the limit of an outage, if less) lies between them."""
    repeated: Count
    """Results of contributions that an earlier slice has answered."""
    lost_later: Count = 0
    """Of earlier slices: contributions that a smaller last result of their key no longer covers."""
    wrong_later: Count = 0
    """Of earlier slices: records of a key whose last result is wrong."""
    open_records: Count = 0
    """Carried on: records without all of their results."""
    clock_low_ms: Number | None = None
    clock_high_ms: Number | None = None
    sent_measured: Count
    """Records of the measured interval that left."""
    sent_inside: Count
    """Records that left in the measured interval."""
    sent_after_ms: Mapping[str, Count] = {}
    """Records of the measured interval that left after it, by how many milliseconds."""
    errors: Count
    errors_measured: Count
    windows: Sequence[Window] = ()
    ledgers: Sequence[str] = ()
    """The files that these figures are of, and that are no longer needed."""
    took_s: Number
