"""The tree of groups that sensors are in: data that programs join readings with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_STEP = 7919
"""A prime larger than the members of a group, so that neighbours are in different groups and no group is empty."""


def parents(children: int, height: int) -> list[list[int]]:
    """The group above each member: of sensors first, then of the groups of each level but the highest."""
    levels = []
    for level in range(height):
        members = children ** (height - level)
        levels.append((np.arange(members) * _STEP % members // children).tolist())
    return levels


def ancestors(levels: Sequence[Sequence[int]], member: str) -> pa.Table:
    """All groups that each of the lowest members is in: columns ``member``, ``level`` and ``group``."""
    import pyarrow as pa

    above = np.arange(len(levels[0]))
    columns: list[list[np.ndarray]] = [[], [], []]
    for level, of_level in enumerate(levels, 1):
        above = np.asarray(of_level)[above]
        for column, values in zip(columns, (np.arange(len(above)), np.full(len(above), level), above), strict=True):
            column.append(values)
    members, numbers, groups = (np.concatenate(column) for column in columns)
    return pa.table({member: members, "level": numbers.astype(np.int32), "group": groups})
