"""The files of campaigns other than capacity searches: ``set.json`` of a set of repetitions."""

from __future__ import annotations

from streamgauge.stored import AtLeastOne, Stored

SET_NAME = "set.json"
SET_FORMAT = 1


class RepetitionSet(Stored):
    """``set.json``: how many runs there are, and which of them is the median one."""

    format: int = SET_FORMAT
    runs: AtLeastOne
    median: str
