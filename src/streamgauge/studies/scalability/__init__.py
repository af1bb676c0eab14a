"""Ehrenstein, *Scalability Benchmarking of Kafka Streams Applications*, 2020."""

from __future__ import annotations

from streamgauge.study import Study

title = "Scalability Benchmarking of Kafka Streams Applications (Ehrenstein, 2020)"

STUDY = Study(title=title, source="Kiel University, 2020", latency="total", exhibits=())
