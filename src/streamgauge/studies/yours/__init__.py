"""Not a published study: your own programs on your own data."""

from __future__ import annotations

from streamgauge.study import Study

title = "Your own programs and data"

STUDY = Study(title=title, source="streamgauge", latency="total", exhibits=())
