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
