"""Searches without a check of the machine that they run on: what it has must not decide a test."""

from __future__ import annotations

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.measure import preflight
from streamgauge.measure.plan import Request

MOST_MEMORY_MB = 100_000


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Refuses what no machine has the memory for; returns the requests that were checked."""
    requests: list[Request] = []

    def check(request: Request) -> None:
        requests.append(request)
        if request.scenario.engine_options.get("heap_mb", 0) > MOST_MEMORY_MB:
            raise EnvironmentProblem("too little memory for this run")

    monkeypatch.setattr(preflight, "check", check)
    return requests
