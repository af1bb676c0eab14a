"""An evaluator that died or failed is started again and repeats the step; only what fails twice is given up."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from children import UNTIL_STDIN_ENDS, await_true, python

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.evaluate import process
from streamgauge.measure import evaluation
from streamgauge.measure.evaluation import Evaluator
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"

ANSWERS = """
say('ready')
for line in sys.stdin:
    request = json.loads(line)
    with open(asked, 'a') as file: file.write(request['do'] + '\\n')
    number = len(open(asked).read().splitlines())
    if number <= bad: misbehave()
    else: say({'record': 'recorded', 'evaluate': 'evaluated', 'evaluate-slice': 'evaluated-slice'}[request['do']])
"""
DIES = "def misbehave(): os._exit(9)"
FAILS = "def misbehave(): say('failed', message='no luck')"
USAGE = "def misbehave(): say('failed', message='your reference is wrong', usage=True)"
HANGS = "def misbehave(): pass"
JVM_DIES_WHEN_ASKED = """
say('ready')
while not os.path.exists(asked): time.sleep(0.01)
if not os.path.exists(asked + '.died'):
    open(asked + '.died', 'w').close()
    os._exit(1)
sys.stdin.read()
"""


class Bench:
    """An evaluator of two small processes, which notes what it was asked for and what it warned of."""

    def __init__(
        self, supervisor: Supervisor, path: Path, misbehaviour: str, bad: int, jvm: str, *, kept: bool = True
    ) -> None:
        self.asked = path / "asked"
        preamble = f"asked, bad = {str(self.asked)!r}, {bad}\n"
        specs = [
            python(preamble + jvm, role="evaluate-jvm", group="evaluate"),
            python(preamble + misbehaviour + ANSWERS, role="evaluate", group="evaluate"),
        ]
        self.supervisor = supervisor
        self.evaluator = Evaluator(supervisor, specs, kept=kept)
        self.run = RunDir(Path(shutil.copytree(GOLDEN, path / "my run")))
        self.warnings: list[str] = []

    def record(self) -> None:
        self.evaluator.record(self.run, lambda text: None, self.warnings.append)

    def evaluate(self) -> None:
        self.evaluator.evaluate(self.run, lambda text: None, self.warnings.append)

    def requests(self) -> list[str]:
        return self.asked.read_text().split()


@pytest.fixture
def bench(supervisor, tmp_path):
    def make(misbehaviour: str, bad: int = 1, jvm: str = UNTIL_STDIN_ENDS) -> Bench:
        return Bench(supervisor, tmp_path, misbehaviour, bad, jvm)

    return make


@pytest.mark.parametrize(
    ("misbehaviour", "jvm"), [(DIES, UNTIL_STDIN_ENDS), (FAILS, UNTIL_STDIN_ENDS), (HANGS, JVM_DIES_WHEN_ASKED)]
)
def test_the_step_is_repeated_in_new_processes(bench, misbehaviour, jvm):
    made = bench(misbehaviour, jvm=jvm)
    made.record()
    assert made.requests() == ["record", "record"]
    assert len(made.warnings) == 1
    assert "restarting the evaluator" in made.warnings[0]
    made.evaluate()
    assert made.requests() == ["record", "record", "evaluate"]
    assert len(made.warnings) == 1


def test_a_jvm_that_died_between_two_runs_is_noticed(bench):
    made = bench(HANGS, bad=0)
    made.record()
    (jvm,) = (running for running in made.supervisor.processes() if running.role == "evaluate-jvm")
    os.kill(jvm.pid, signal.SIGKILL)
    await_true(lambda: jvm.exit_code is not None)
    made.evaluate()
    assert {running.role for running in made.supervisor.processes()} == {"evaluate-jvm", "evaluate"}
    assert jvm.pid not in {running.pid for running in made.supervisor.processes()}


@pytest.mark.parametrize("misbehaviour", [DIES, FAILS])
def test_what_fails_twice_is_given_up_and_says_how_to_go_on(bench, misbehaviour):
    made = bench(misbehaviour, bad=2)
    with pytest.raises(EnvironmentProblem) as refused:
        made.evaluate()
    assert f"streamgauge evaluate '{made.run.path}'" in refused.value.message()
    assert made.requests() == ["evaluate", "evaluate"]


def test_a_mistake_of_the_users_is_not_tried_again(bench):
    made = bench(USAGE)
    with pytest.raises(UsageError, match="your reference is wrong"):
        made.evaluate()
    assert made.requests() == ["evaluate"]
    assert made.warnings == []


def test_the_address_of_a_dead_jvm_is_not_read_again(tmp_path):
    jvm, _ = process.plan(Path("java"), tmp_path, (), "local[2]", 1024)
    assert jvm.files[Path(jvm.env["_PYSPARK_DRIVER_CONN_INFO_PATH"])] == ""


@pytest.mark.parametrize("kept", [True, False])
def test_one_that_is_not_kept_ends_after_each_run(supervisor, tmp_path, kept):
    """The cores of a cluster are for the next run's system under test."""
    made = Bench(supervisor, tmp_path, HANGS, 0, UNTIL_STDIN_ENDS, kept=kept)
    for _ in range(2):
        made.record()
        made.evaluate()
        alive = [running for running in supervisor.processes() if running.exit_code is None]
        assert len(alive) == (2 if kept else 0)
    assert made.requests() == 2 * ["record", "evaluate"]


@pytest.mark.parametrize(("master", "kept"), [("local[*]", True), ("spark://127.0.0.1:7077", False), ("yarn", False)])
def test_only_a_local_spark_is_kept(monkeypatch, tmp_path, master, kept):
    made = {}
    monkeypatch.setattr(evaluation.jars, "missing", lambda groups: False)
    monkeypatch.setattr(evaluation.jars, "paths", lambda group: [])
    monkeypatch.setattr(evaluation, "Evaluator", lambda supervisor, specs, **options: made.update(options))
    with evaluation.kept_evaluator("of-a-test", tmp_path / "logs", master, None):
        assert made == {"kept": kept}


def test_a_slice_is_repeated_too(bench):
    made = bench(DIES)
    made.evaluator.evaluate_slice(made.run, 7, lambda text: None, made.warnings.append)
    assert made.requests() == ["evaluate-slice", "evaluate-slice"]
    assert len(made.warnings) == 1


def test_an_evaluator_that_was_abandoned_repeats_nothing(bench):
    made = bench(DIES)
    made.evaluator.abandon()
    with pytest.raises(EnvironmentProblem):
        made.evaluator.evaluate_slice(made.run, 7, lambda text: None, made.warnings.append)
    assert made.requests() == ["evaluate-slice"]
    assert made.warnings == []
