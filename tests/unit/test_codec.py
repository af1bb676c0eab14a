"""Every place finds the number of a record in Python, or None if there is none."""

from __future__ import annotations

import pytest

from streamgauge.codec import BinaryField, Codec, DelimitedField, Header, JsonField, Message, MessageKey, Place

CASES: list[tuple[Place, Message, int | None]] = [
    (JsonField("n_seq"), Message(b"k", b'{"a":"\\"n_seq\\":7","n_seq": 41}'), 41),
    (JsonField("n_seq"), Message(b"k", b'{"n_seqs": 41}'), None),
    (JsonField("n_seq"), Message(b"k", None), None),
    (DelimitedField(0), Message(None, b"17\tx"), 17),
    (DelimitedField(2), Message(None, b"17\tx"), None),
    (DelimitedField(1, "|"), Message(None, b"a|5"), 5),
    (DelimitedField(1, "|"), Message(None, b"a|b"), None),
    (BinaryField(2), Message(None, b"xx" + (2**40 + 3).to_bytes(8, "little") + b"y"), 2**40 + 3),
    (BinaryField(2), Message(None, b"xx\x01"), None),
    (BinaryField(0, 2), Message(None, b"\x01\x02\x03"), 513),
    (BinaryField(0), Message(None, bytes.fromhex("f1e2d3c4b5a69708")), 0x0897_A6B5_C4D3_E2F1),
    (BinaryField(0), Message(None, b"\xff" * 7 + b"\x7f"), 2**63 - 1),
    (BinaryField(0), Message(None, b"\xff" * 8), None),
    (BinaryField(1, 4), Message(None, b"\x00\xff\xff\xff\xff"), 2**32 - 1),
    (MessageKey(), Message(b"123", b"v"), 123),
    (MessageKey(), Message(b"12x", b"v"), None),
    (MessageKey(), Message(None, b"v"), None),
    (Header("n"), Message(None, b"v", [("m", b"1"), ("n", b"9")]), 9),
    (Header("n"), Message(None, b"v", [("n", None)]), None),
    (Header("n"), Message(None, b"v"), None),
]


@pytest.mark.parametrize(("place", "message", "number"), CASES)
def test_a_number_is_read_or_none(place: Place, message: Message, number: int | None) -> None:
    assert place.read(message) == number


def test_headers_are_requested_if_a_number_is_in_one() -> None:
    assert not Codec(n_seq=MessageKey()).needs_headers
    assert Codec(n_seq=Header("n")).needs_headers
    assert Codec(n_seq=MessageKey(), event_ms=Header("t")).needs_headers
