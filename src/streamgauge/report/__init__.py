"""The report of one run: measures ▶ tables, figures, one HTML file that opens without a network."""

from __future__ import annotations

from pathlib import Path

from streamgauge.rundir import RunDir


def write(run: RunDir) -> Path:
    """Write ``report.html`` of an evaluated run, whole or not at all, and return its path.

    Measures and samples that are missing are named in the report. Raises UsageError when there is no summary.
    """
    from streamgauge.report.page import write_page  # jinja2 and numpy would slow down every command line

    return write_page(run)


def write_study(out: Path) -> Path:
    """Write ``report.html`` of a reproduced study from ``OUT/reproduction.json``, whole or not at all; return its path.

    Experiments without a result leave a gap with the reason. Raises UsageError when there is no reproduction.
    """
    from streamgauge.report.study import write_study_page  # as above

    return write_study_page(out)
