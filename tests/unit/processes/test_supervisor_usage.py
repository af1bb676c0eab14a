"""A process that cannot go on with what the user gave it: the user's to mend, not the system's failure."""

from __future__ import annotations

import pytest
from children import DEADLINE_S, python

from streamgauge.errors import EngineFailed, UsageError
from streamgauge.processes.supervisor import Supervisor


def test_the_users_mistake_is_told_in_the_programs_own_words(supervisor: Supervisor) -> None:
    with pytest.raises(UsageError) as caught:
        supervisor.start(python("say('failed', message='no column x', usage=True); sys.exit(1)"))
    assert caught.value.message() == "no column x"


def test_any_other_failure_is_the_systems_own(supervisor: Supervisor) -> None:
    with pytest.raises(EngineFailed):
        supervisor.start(python("say('failed', message='no memory', usage=False); sys.exit(1)"))


def test_a_mistake_is_forgotten_with_the_next_request(supervisor: Supervisor) -> None:
    code = "say('ready')\nfor line in sys.stdin: say('failed', message=line.strip(), usage=line == 'mine\\n')"
    supervisor.start(python(code))
    for line, error in (("mine", UsageError), ("its own", EngineFailed)):
        supervisor.send("engine", line)
        with pytest.raises(error):
            supervisor.wait_event("engine", "evaluated", DEADLINE_S)
