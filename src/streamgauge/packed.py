"""Many byte strings of one length, in one piece of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload


class Packed(Sequence[bytes]):
    """Reads like a list of byte strings; a slice shares the memory."""

    __slots__ = ("memory", "width")

    def __init__(self, memory: bytes | memoryview, width: int) -> None:
        self.memory = memoryview(memory)
        self.width = width

    def __len__(self) -> int:
        return len(self.memory) // self.width

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Packed: ...
    def __getitem__(self, place: int | slice) -> bytes | Packed:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                raise ValueError("a slice of packed strings has no steps")
            return Packed(self.memory[start * self.width : max(start, stop) * self.width], self.width)
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        at = place % len(self) * self.width
        return bytes(self.memory[at : at + self.width])

    def __iter__(self) -> Iterator[bytes]:
        # Slices of bytes are made faster than copies of slices of a view.
        data, width = bytes(self.memory), self.width
        return (data[at : at + width] for at in range(0, len(data), width))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packed) and (self.width, self.memory) == (other.width, other.memory)

    def __hash__(self) -> int:
        return hash((self.width, bytes(self.memory)))
