"""Not a published study: scenarios that show how a system treats what the studies leave out."""

from __future__ import annotations

from streamgauge.study import Study

title = "What the studies leave out"

STUDY = Study(title=title, source="streamgauge", latency="latest", exhibits=())
