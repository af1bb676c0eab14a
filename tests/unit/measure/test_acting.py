"""While a fault acts on a process, its silence shows nothing: the drain goes on."""

from __future__ import annotations

from children import UNTIL_STDIN_ENDS, await_true, python
from test_faults import Acting

from streamgauge.processes.supervisor import Supervisor


def test_a_paused_process_will_go_on(supervisor: Supervisor) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "pause engine-1 for 20s at 0s")
    await_true(lambda: acting.faults.is_acting)
    assert not acting.faults.is_restarting
    acting.faults.end()
    assert not acting.faults.is_acting


def test_a_killed_one_will_not(supervisor: Supervisor) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 at 0s", "pause engine-1 for 20s at 29s")
    await_true(lambda: acting.records[0].took_effect)
    assert not acting.faults.is_acting
    acting.faults.end()


def test_one_that_is_started_again_will(supervisor: Supervisor) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 for 20s at 0s")
    await_true(lambda: acting.records[0].took_effect)
    assert acting.faults.is_acting
    acting.faults.end()
