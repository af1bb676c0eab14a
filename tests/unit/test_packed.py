"""Packed byte strings behave like a list of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.packed import Packed

STRINGS = [b"ab", b"cd", b"ef", b"gh"]


@given(st.slices(len(STRINGS)).filter(lambda place: place.step in (None, 1)))
def test_slices_are_those_of_a_list(place: slice) -> None:
    assert list(Packed(b"".join(STRINGS), 2)[place]) == STRINGS[place]


def test_items_length_and_order() -> None:
    packed = Packed(b"".join(STRINGS), 2)
    assert [packed[place] for place in range(-4, 4)] == STRINGS + STRINGS
    assert (len(packed), list(packed), b"cd" in packed) == (4, STRINGS, True)
    for place in (4, -5):
        with pytest.raises(IndexError):
            packed[place]
    with pytest.raises(ValueError, match="has no steps"):
        packed[::2]


def test_equal_if_the_strings_are() -> None:
    assert Packed(b"abcd", 2) == Packed(memoryview(b"xabcd")[1:], 2) != Packed(b"abcd", 4)
    assert hash(Packed(b"abcd", 2)) == hash(Packed(b"abcd", 2))


def test_a_slice_shares_the_memory() -> None:
    whole = Packed(b"".join(STRINGS), 2)
    assert whole[1:3].memory.obj is whole.memory.obj
