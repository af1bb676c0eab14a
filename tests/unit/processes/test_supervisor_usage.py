"""A usage error reported by a process is not a failure of the system."""

from __future__ import annotations

import pytest
from children import DEADLINE_S, python

from streamgauge.errors import EngineFailed, UsageError
from streamgauge.processes.supervisor import Supervisor


def test_a_usage_error_has_the_programs_message(supervisor: Supervisor) -> None:
    with pytest.raises(UsageError) as caught:
        supervisor.start(python("say('failed', message='no column x', usage=True); sys.exit(1)"))
    assert caught.value.message() == "no column x"


def test_any_other_failure_is_the_systems(supervisor: Supervisor) -> None:
    with pytest.raises(EngineFailed):
        supervisor.start(python("say('failed', message='no memory', usage=False); sys.exit(1)"))


def test_a_usage_error_is_cleared_by_the_next_request(supervisor: Supervisor) -> None:
    code = "say('ready')\nfor line in sys.stdin: say('failed', message=line.strip(), usage=line == 'mine\\n')"
    supervisor.start(python(code))
    for line, error in (("mine", UsageError), ("its own", EngineFailed)):
        supervisor.send("engine", line)
        with pytest.raises(error):
            supervisor.wait_event("engine", "evaluated", DEADLINE_S)
