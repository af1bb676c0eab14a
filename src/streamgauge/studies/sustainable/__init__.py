"""Karimov, Rabl, Katsifodimos, Samarev, Heiskanen & Markl, *Benchmarking Distributed Stream Data Processing Systems*,
ICDE 2018."""

from __future__ import annotations

from streamgauge.study import Study

title = "Benchmarking Distributed Stream Data Processing Systems (Karimov et al., ICDE 2018)"

STUDY = Study(
    title=title, source="IEEE International Conference on Data Engineering, 2018", latency="total", exhibits=()
)
