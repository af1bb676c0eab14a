"""One broker and one evaluator for the whole test run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from streamgauge.conformance.suite import Bench


# Started under nohup or in the background of a script, these are ignored, which children inherit; the tests send them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow, which is no property of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    from streamgauge.conformance.suite import bench

    with bench(tmp_path_factory.mktemp("bench")) as found:
        yield found
