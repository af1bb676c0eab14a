"""A fixture for tests: measures, asserts, and says where the report is.

    def test_latency(streamgauge_run):
        result = streamgauge_run("study/scenario", engine="spark", duration="30s", slo=["latency.p99 < 2s"])
        assert result.latency.p50_ms < 1000

pytest loads this module in every session of an environment that has streamgauge: it imports nothing until it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from streamgauge.api import RunResult

RunAndAssert = Callable[..., "RunResult"]


@pytest.fixture
def streamgauge_run(
    request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]
) -> RunAndAssert:
    """``streamgauge.run``, in a directory of the test unless ``out`` is given; fails the test if a check is red.

    ``check=False`` leaves that to the test. The report is named in the output of a failed test and, as a property, in
    JUnit XML.
    """
    count = 0

    def run(scenario: str, *, check: bool = True, **options: Any) -> RunResult:
        from streamgauge import api

        nonlocal count
        count += 1
        result = api.run(scenario, **{"out": tmp_path / f"run-{count}", **options})
        record_property("streamgauge_report", str(result.report))
        request.node.add_report_section("call", "streamgauge", _described(result))
        if check and (red := [one for one in result.checks if one.is_red]):
            reasons = "\n".join(f"  {one.name}: {one.message}" for one in red)
            pytest.fail(f"{scenario}: {result.verdict}\n{reasons}\n  report: {result.report}", pytrace=False)
        return result

    return run


def _described(result: RunResult) -> str:
    lines = [f"{one.outcome}: {one.name} {one.message}".rstrip() for one in result.checks]
    return "\n".join([*lines, f"report: {result.report}"])
