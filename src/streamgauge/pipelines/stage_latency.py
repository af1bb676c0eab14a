"""The stages of stage-latency: those of ospbench, with a sliding window that looks further back."""

from __future__ import annotations

from typing import ClassVar

from streamgauge.pipelines import traffic


class Ingest(traffic.Ingest):
    name: ClassVar[str] = "stage-latency/ingest"


class Parse(traffic.Parse):
    name: ClassVar[str] = "stage-latency/parse"


class Join(traffic.Join):
    name: ClassVar[str] = "stage-latency/join"


class Tumbling(traffic.Tumbling):
    name: ClassVar[str] = "stage-latency/tumbling"


class Sliding(traffic.Sliding):
    name: ClassVar[str] = "stage-latency/sliding"
    # A window of 10 s holds the second that is 9 s before its last one, half of it that which is 4 s before.
    look_back_s: ClassVar[tuple[int, ...]] = (4, 9)
