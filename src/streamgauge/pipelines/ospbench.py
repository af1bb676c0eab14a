"""The stages of ospbench."""

from __future__ import annotations

from typing import ClassVar

from streamgauge.pipelines import traffic


class Ingest(traffic.Ingest):
    name: ClassVar[str] = "ospbench/ingest"


class Parse(traffic.Parse):
    name: ClassVar[str] = "ospbench/parse"


class Join(traffic.Join):
    name: ClassVar[str] = "ospbench/join"


class Tumbling(traffic.Tumbling):
    name: ClassVar[str] = "ospbench/tumbling"


class Sliding(traffic.Sliding):
    name: ClassVar[str] = "ospbench/sliding"
    # A window of 3 s holds the seconds that are 1 s and 2 s before its last one.
    look_back_s: ClassVar[tuple[int, ...]] = (1, 2)
