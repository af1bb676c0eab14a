"""How much memory and disk a long run takes itself, and how often it is sampled."""

from __future__ import annotations

import os
from pathlib import Path

from streamgauge.model import Scenario
from streamgauge.model.samples import DiskSample, ResourceSample
from streamgauge.processes import proctable
from streamgauge.rundir import RunDir

OWN_ROLE = "streamgauge"
"""This process, among the samples."""
SAMPLES_MOST = 7200
FOOTPRINT_S = 10
"""Files are counted this often: it is not free."""


def footprint(t_ns: int, run: RunDir, work_dir: Path) -> tuple[ResourceSample, DiskSample]:
    """What this process and the files of a run take."""
    stat = proctable.read(os.getpid())
    assert stat is not None
    own = ResourceSample(
        t_ns=t_ns,
        role=OWN_ROLE,
        group=OWN_ROLE,
        cpu_s=round(stat.own_cpu_s, 3),
        rss_mb=round(stat.rss_mb, 1),
    )
    work_mb = {child.name: _size_mb(child) for child in sorted(work_dir.iterdir()) if child.is_dir()}
    return own, DiskSample(t_ns=t_ns, run_mb=_size_mb(run.path), work_mb=work_mb)


def _size_mb(directory: Path) -> float:
    """What its files take on disk; those that vanish meanwhile do not count."""
    blocks = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                blocks += (Path(folder) / name).lstat().st_blocks
            except OSError:
                continue
    return round(blocks * 512 / 1e6, 2)


def sample_every_s(scenario: Scenario) -> int:
    """So that the samples of a long run do not outgrow it: its seconds, up to two hours of them."""
    return max(1, round(scenario.load.duration_s / SAMPLES_MOST)) if scenario.slice_s else 1
