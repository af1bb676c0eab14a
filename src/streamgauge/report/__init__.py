"""The report of one run: measures ▶ tables, figures, one HTML file that opens without a network."""

from __future__ import annotations

from pathlib import Path

from streamgauge.rundir import RunDir
from streamgauge.study import Study


def write(run: RunDir, baseline: RunDir | None = None) -> Path:
    """Write ``report.html`` of an evaluated run, whole or not at all, and return its path.

    ``baseline`` is drawn behind its figures, and the report lists the differences. Measures and samples that are
    missing are named in the report. Raises UsageError when one of the two has no summary or is damaged.
    """
    from streamgauge.report.page import write_page  # jinja2 and numpy would slow down every command line

    return write_page(run, baseline)


def write_study(out: Path, study: Study) -> Path:
    """Write ``report.html`` of a reproduced study from ``OUT/reproduction.json``, whole or not at all; return its path.

    Each exhibit of the study is drawn by its own function.
    Experiments without a result leave a gap with the reason. Raises UsageError when there is no reproduction.
    """
    from streamgauge.report.study import write_study_page  # as above

    return write_study_page(out, study)
