"""Several searches of the same capacity: what they say together, how they are resumed, why they do not share a grid."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.campaigns import capacity_set
from streamgauge.campaigns.capacity import CapacitySearch, exit_code, find_capacity
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.capacity_set import GOLDEN, find_capacities
from streamgauge.campaigns.search import Answer, Next, Probe, Target, advance
from streamgauge.errors import EngineFailed, EnvironmentProblem, UsageError
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model.capacity import Capacity, CapacityProbe, read
from streamgauge.report.capacity import headline
from streamgauge.studies import scenario as scenarios

FOUND = Answer("found", 1000, 1100, True)
Script = Callable[..., list[str]]


@pytest.fixture
def capacity_search(tmp_path: Path) -> CapacitySearch:
    scenario = scenarios.resolve("ospbench/throughput", engine="echo", changes={"stage": "parse"})
    return CapacitySearch(Request(scenario, tmp_path / "set"), 0.1)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Lets searches end as they are told; returns the list of those that were made."""

    def play(*answers: Answer | BaseException, validated: bool = True) -> list[str]:
        left, made = list(answers), []

        def search(capacity_search: CapacitySearch, *_: object) -> Capacity:
            file = CapacityFile.open(capacity_search.request.out, capacity_search.settings())
            if not file.finished:
                made.append(capacity_search.request.out.name)
                answer = left.pop(0)
                if isinstance(answer, BaseException):
                    raise answer
                file.set_guess(1000)
                file.add(_row(answer.best or 1, validated))
                file.finish(answer)
            return file.content

        monkeypatch.setattr(capacity_set, "find_capacity", search)
        return made

    return play


def _row(value: int, validated: bool) -> CapacityProbe:
    return CapacityProbe(
        value=value,
        verdict="sustained",
        validated=validated,
        seconds=40.0,
        seconds_saved=0.0,
        purpose="confirm",
        reason="",
        weak=False,
        directory="probes/01",
        total_p50=5.0,
        total_p99=9.0,
    )


def test_the_searches_are_put_together(capacity_search: CapacitySearch, script: Script) -> None:
    answers = [Answer("found", best, best + 100, True) for best in (1000, 950, 1040)]
    assert script(*answers) == []
    content = find_capacities(capacity_search, 3, NullReporter())
    out = capacity_search.request.out
    assert json.loads(json.dumps(content.as_json())) == json.loads((out / "capacity.json").read_text())
    assert (content.outcome, content.median, content.runs) == ("found", 1000, 3)
    assert content.interval.as_json() == {"best": (950.0, 1040.0), "seed": 1}
    assert (content.confirmed, content.validated, content.seconds) == (True, True, 120.0)
    assert [row.interval for row in content.searches] == [(1000, 1100), (950, 1050), (1040, 1140)]
    assert headline(content) == (
        "FOUND",
        "1,000 records/s sustained, median of 3 searches, 95 % interval 950 to 1,040 (confirmed, validated)",
    )
    page = (out / "report.html").read_text()
    for sentence in (
        "median of 3 searches",
        "950 records/s sustained, 1,050 not (confirmed, validated)",
        "./3/report.html",
    ):
        assert sentence in page
    assert (out / "2" / "report.html").is_file()
    assert exit_code(content) == 0


def test_two_searches_give_no_interval(capacity_search: CapacitySearch, script: Script) -> None:
    script(FOUND, FOUND)
    content = find_capacities(capacity_search, 2, NullReporter())
    assert content.interval.best is None
    assert "interval" not in headline(content)[1]


@pytest.mark.parametrize(
    ("answers", "word", "code"),
    [
        ((FOUND, Answer("invalid", None, None, False, "twice"), FOUND), "INVALID", 3),
        ((FOUND, Answer("missed", None, 1, False, "the end"), FOUND), "MISSED", 1),
        ((FOUND, Answer("ceiling", 1200, None, True, "at least"), FOUND), "FOUND", 0),
    ],
)
def test_the_worst_search_decides(
    capacity_search: CapacitySearch, script: Script, answers: tuple[Answer, ...], word: str, code: int
) -> None:
    script(*answers)
    content = find_capacities(capacity_search, 3, NullReporter())
    assert headline(content)[0] == word
    assert exit_code(content) == code
    assert content.note.startswith("search 2: ")
    if word == "FOUND":
        assert headline(content)[1].startswith("at least 1,000 records/s")


def test_unvalidated_searches_say_so(capacity_search: CapacitySearch, script: Script) -> None:
    script(FOUND, FOUND, FOUND, validated=False)
    content = find_capacities(capacity_search, 3, NullReporter())
    assert content.validated is False
    assert headline(content)[1].endswith("(confirmed, unvalidated: no reference)")
    one = read(capacity_search.request.out / "1" / "capacity.json")
    assert headline(one)[1].endswith("1,100 not (confirmed, unvalidated: no reference)")


def test_it_goes_on_where_it_stopped_and_takes_more_searches(capacity_search: CapacitySearch, script: Script) -> None:
    made = script(FOUND, EngineFailed("it died"), FOUND, FOUND, FOUND)
    with pytest.raises(EngineFailed):
        find_capacities(capacity_search, 3, NullReporter())
    content = read(capacity_search.request.out / "capacity.json")
    assert headline(content) == ("UNFINISHED", "1 of 3 searches have come to their end")
    assert find_capacities(capacity_search, 3, NullReporter()).outcome == "found"
    assert made == ["1", "2", "2", "3"]
    assert find_capacities(capacity_search, 4, NullReporter()).runs == 4
    assert made[4:] == ["4"]
    with pytest.raises(UsageError, match=r"more searches(.|\n)*--runs 4 or more"):
        find_capacities(capacity_search, 3, NullReporter())


def test_refused_searches_write_nothing(tmp_path: Path) -> None:
    changes = {"stage": "parse", "heap_mb": "200000"}
    scenario = scenarios.resolve("ospbench/throughput", engine="spark", changes=changes)
    with pytest.raises(EnvironmentProblem, match="too little memory"):
        find_capacities(CapacitySearch(Request(scenario, tmp_path / "out"), 0.1), 3, NullReporter())
    assert not (tmp_path / "out").exists()


def test_a_set_and_a_search_are_not_taken_for_each_other(capacity_search: CapacitySearch, script: Script) -> None:
    script(FOUND, FOUND)
    find_capacities(capacity_search, 2, NullReporter())
    with pytest.raises(UsageError, match=r"several searches(.|\n)*--runs 2"):
        find_capacity(capacity_search, NullReporter())
    single = replace(capacity_search, request=replace(capacity_search.request, out=capacity_search.request.out / "1"))
    with pytest.raises(UsageError, match="a single search"):
        find_capacities(single, 3, NullReporter())
    with pytest.raises(UsageError, match="another --resolution"):
        find_capacities(replace(capacity_search, resolution=0.2), 2, NullReporter())
    with pytest.raises(UsageError, match="not empty"):
        find_capacities(
            replace(capacity_search, request=replace(capacity_search.request, out=capacity_search.request.out.parent)),
            2,
            NullReporter(),
        )


def best_of(capacity_per_s: float, guess_per_s: float, shift: float) -> int:
    """What a search without noise finds."""
    target, probes = Target(round(guess_per_s * 1.1**shift), 0.1), list[Probe]()
    while isinstance(step := advance(target, probes), Next):
        word = "sustained" if step.value <= capacity_per_s else "not sustained"
        probes.append(Probe(step.value, word, step.purpose))
    assert step.best is not None
    return step.best


def test_searches_do_not_round_alike() -> None:
    """Two systems of the same capacity whose drains are faster by another factor. Searches from the same guess agree
    with each other and are off by up to 10 %; with guesses of their own their median is not."""
    seeded = random.Random(3)
    off: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(50):
        for shifted, capacities in off.items():
            medians = [
                statistics.median(best_of(20_000, 20_000 * bias, n * GOLDEN % 1 if shifted else 0.0) for n in range(3))
                for bias in (seeded.uniform(0.8, 1.2), seeded.uniform(0.8, 1.2))
            ]
            capacities.append(max(medians) / min(medians) - 1)
    assert max(off[False]) > 0.08
    assert max(off[True]) < 0.05
