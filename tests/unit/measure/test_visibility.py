"""What is noted of ends that move, and what of a broker that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from streamgauge.errors import EnvironmentProblem
from streamgauge.measure.visibility import Visibility
from streamgauge.model.samples import VisibleSample


class Broker:
    """Answers with one of these ends after the other, and then with the last; None: it does not answer."""

    def __init__(self, *answers: Mapping[int, int] | None) -> None:
        self._answers = list(answers)
        self.asked = threading.Semaphore(0)

    def ends(self) -> Mapping[int, int]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.asked.release()
        if answer is None:
            raise EnvironmentProblem("the end of topic x is unknown")
        return answer


def noted(*answers: Mapping[int, int] | None) -> list[VisibleSample]:
    lines: list[VisibleSample] = []
    watching = Visibility(Broker(*answers).ends, lines.extend)
    for _ in answers:
        watching.look()
    return lines


def test_only_ends_that_moved_are_noted() -> None:
    lines = noted({0: 0, 1: 0}, {0: 3, 1: 0}, {0: 3, 1: 0}, {0: 3, 1: 2}, {0: 9, 1: 4})
    assert [(line.partition, line.end) for line in lines] == [(0, 3), (1, 2), (0, 9), (1, 4)]
    for line in lines:
        assert line.since_ns < line.t_ns
    # Partitions of one answer moved between the same two looks.
    assert lines[2] == lines[3].with_changes(partition=0, end=9)


def test_the_look_before_says_since_when() -> None:
    """It was asked for before the answer of the look before came."""
    for before, after in pairwise(noted({0: 1}, {0: 2}, {0: 3})):
        assert before.since_ns <= after.since_ns <= before.t_ns <= after.t_ns


def test_a_broker_that_does_not_answer_widens_the_doubt() -> None:
    before, after = noted({0: 1}, None, None, {0: 2})
    assert after.since_ns <= before.t_ns


def test_it_looks_once_more_at_the_end() -> None:
    lines: list[Any] = []
    ends = {0: 0}
    broker = Broker(ends)
    watching = Visibility(broker.ends, lines.extend)
    watching.begin()
    assert broker.asked.acquire(timeout=20)
    ends[0] = 7
    watching.end()
    watching.end()
    assert [line.end for line in lines] == [7]


def test_where_there_are_no_transactions_nobody_looks() -> None:
    broker = Broker({0: 1})
    watching = Visibility(broker.ends, lambda lines: None, wanted=False)
    watching.begin()
    watching.end()
    assert not broker.asked.acquire(blocking=False)


def test_an_open_transaction_is_remembered() -> None:
    answers = [0, 2]
    watching = Visibility(dict, lambda _: None, hidden=lambda: answers.pop(0))
    assert not watching.saw_transactions()
    assert watching.saw_transactions()
    assert watching.saw_transactions(), "without asking again"
    assert not Visibility(dict, lambda _: None, hidden=lambda: 2, wanted=False).saw_transactions()


def test_results_are_hidden_while_a_transaction_is_open() -> None:
    def no_answer() -> int:
        raise EnvironmentProblem("the broker does not answer")

    def hides(hidden: Callable[[], int], *, wanted: bool = True) -> bool:
        return Visibility(dict, lambda _: None, hidden=hidden, wanted=wanted).hides_results()

    assert hides(lambda: 3) and not hides(lambda: 0)
    assert hides(no_answer), "nobody knows"
    assert not hides(no_answer, wanted=False), "where there are no transactions, nobody is asked"
