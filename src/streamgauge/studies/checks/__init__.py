"""Not a published study: scenarios for behaviour that the studies do not cover."""

from __future__ import annotations

from streamgauge.study import Study

title = "Checks beyond the published studies"

STUDY = Study(title=title, source="streamgauge", latency="latest", exhibits=())
