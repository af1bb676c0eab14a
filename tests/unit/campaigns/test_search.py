"""The search against simulated systems whose true capacity is known."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.campaigns.search import Answer, Next, Probe, ProbeVerdict, Target, advance, limited_by

Judge = Callable[[Next], ProbeVerdict]

resolutions = st.sampled_from([0.02, 0.05, 0.10, 0.25])
capacities = st.integers(2, 2_000_000)


def search(target: Target, judge: Judge, most: int = 80) -> tuple[Answer, list[Probe]]:
    probes: list[Probe] = []
    while len(probes) <= most:
        step = advance(target, probes)
        if isinstance(step, Answer):
            return step, probes
        probes.append(Probe(step.value, judge(step), step.purpose))
    raise AssertionError(f"no answer after {most} probes: {probes}")


def up_to(capacity: float) -> Judge:
    return lambda step: "sustained" if step.value <= capacity else "not sustained"


def from_(least: float) -> Judge:
    return lambda step: "sustained" if step.value >= least else "not sustained"


@given(capacities, st.floats(0.02, 50.0), resolutions, st.booleans())
def test_the_interval_holds_the_capacity_and_is_narrow(
    capacity: int, off: float, resolution: float, found_before: bool
) -> None:
    target = Target(max(1, min(round(capacity * off), 10_000_000)), resolution, found_before=found_before)
    answer, probes = search(target, up_to(capacity))
    assert answer.outcome == "found"
    assert answer.confirmed
    assert answer.best is not None and answer.beyond is not None
    assert answer.best <= capacity < answer.beyond
    assert answer.beyond <= answer.best * (1 + resolution) + 1
    assert probes[-1].purpose == "confirm"
    assert len(probes) <= 22


@given(st.integers(500, 2_000_000), st.floats(0.97, 1.03), st.sampled_from([0.05, 0.10]))
def test_a_good_guess_needs_at_most_eight_probes(capacity: int, off: float, resolution: float) -> None:
    _, probes = search(Target(round(capacity * off), resolution), up_to(capacity))
    assert len(probes) <= 8


@given(st.integers(500, 200_000), st.floats(0.5, 2.0), st.sampled_from([0.05, 0.10]), st.integers(0, 10_000))
def test_noise_near_the_edge_moves_the_answer_no_further_than_the_noise(
    capacity: int, off: float, resolution: float, seed: int
) -> None:
    noise = random.Random(seed)

    def judge(step: Next) -> ProbeVerdict:
        return "sustained" if step.value <= capacity * noise.uniform(0.97, 1.03) else "not sustained"

    answer, _ = search(Target(round(capacity * off), resolution), judge)
    assert answer.outcome == "found"
    assert answer.best is not None and answer.beyond is not None
    assert answer.best <= capacity * 1.03 + 1
    assert answer.beyond >= capacity * 0.97 - 1


@given(st.integers(1, 64), st.integers(1, 64))
def test_the_least_of_a_resource_is_found_exactly_while_it_is_small(least: int, guess: int) -> None:
    answer, probes = search(Target(guess, 0.01, highest=64, more_is_harder=False), from_(least))
    assert answer.best == least
    assert answer.beyond == (least - 1 or None)
    assert answer.outcome == ("found" if least > 1 else "ceiling")
    assert len(probes) <= 20


@given(
    st.lists(st.sampled_from(["sustained", "not sustained", "undecided", "invalid"]), max_size=200),
    st.sampled_from(["sustained", "not sustained", "invalid"]),
)
def test_it_ends_whatever_the_probes_say(words: list[ProbeVerdict], then: ProbeVerdict) -> None:
    answers = iter(words)
    answer, _ = search(Target(4000, 0.10), lambda step: next(answers, then), most=300)
    assert answer.best is None or answer.beyond is None or answer.best < answer.beyond


def test_the_first_two_probes_lie_round_the_guess() -> None:
    assert advance(Target(1000, 0.10), []) == Next(909, "bracket")
    assert advance(Target(1000, 0.10), [Probe(909, "sustained")]) == Next(1100, "bracket")


@pytest.mark.parametrize(
    ("capacity", "values"),
    [
        (1000, [1000, 1250, 1000]),
        (1249, [1000, 1250, 1000]),
        (999, [1000, 800, 800]),
        (1300, [1000, 1250, 1953, 1562, 1250]),
        (500, [1000, 800, 512, 210, 328, 410, 410]),
    ],
)
def test_what_another_search_found_is_probed_itself(capacity: int, values: list[float]) -> None:
    """The edge is there within the resolution, or not far from there."""
    _, probes = search(Target(1000, 0.25, found_before=True), up_to(capacity))
    assert [probe.value for probe in probes] == values


def test_the_step_grows_while_the_edge_is_not_found() -> None:
    values = [probe.value for probe in search(Target(1000, 0.10), up_to(7000))[1][:4]]
    assert values == [909, 1100, 1611, 3222]


def test_rounding_costs_no_probe() -> None:
    probes = [Probe(785, "sustained"), Probe(1227, "not sustained"), Probe(981, "sustained", "bisect")]
    assert advance(Target(981, 0.25), probes) == Next(981, "confirm")


def test_nothing_is_sustained() -> None:
    answer, probes = search(Target(4000, 0.10), lambda step: "not sustained")
    assert (answer.outcome, answer.best, answer.beyond) == ("missed", None, 1)
    assert len(probes) <= 8


def test_a_not_sustained_near_the_best_is_repeated_once_and_its_second_word_counts() -> None:
    probes = [Probe(952, "sustained"), Probe(1050, "not sustained"), Probe(1000, "sustained", "bisect")]
    again = advance(Target(1000, 0.05), probes)
    assert again == Next(1050, "repeat")
    settled = [*probes, Probe(1050, "not sustained", "repeat")]
    assert advance(Target(1000, 0.05), settled) == Next(1000, "confirm")
    lifted = advance(Target(1000, 0.05), [*probes, Probe(1050, "sustained", "repeat")])
    assert lifted == Next(1102, "bracket"), "the edge is near"


def test_a_repeat_that_stays_invalid_is_not_tried_for_ever() -> None:
    probes = [Probe(952, "sustained"), Probe(1050, "not sustained"), Probe(1000, "sustained", "bisect")]
    twice = [*probes, Probe(1050, "invalid", "repeat"), Probe(1050, "invalid", "repeat")]
    assert advance(Target(1000, 0.05), twice) == Next(1000, "confirm")


def test_rounding_does_not_decide_whether_it_is_near() -> None:
    probes = [Probe(106_533, "sustained"), Probe(128_905, "not sustained"), Probe(117_186, "sustained", "bisect")]
    assert advance(Target(117_186, 0.1), probes) == Next(128_905, "repeat")


def test_a_not_sustained_far_from_the_best_is_not_repeated() -> None:
    probes = [Probe(800, "sustained"), Probe(1000, "not sustained")]
    assert advance(Target(900, 0.25), probes) == Next(800, "confirm")


def test_an_invalid_probe_is_repeated_once_and_then_is_the_ceiling() -> None:
    probes = [Probe(909, "sustained"), Probe(1100, "invalid")]
    assert advance(Target(1000, 0.10), probes) == Next(1100, "bracket")
    twice = [*probes, Probe(1100, "invalid")]
    assert advance(Target(1000, 0.10), twice) == Next(909, "confirm")
    answer = advance(Target(1000, 0.10), [*twice, Probe(909, "sustained", "confirm")])
    assert answer == Answer("ceiling", 909, None, True, "at least 909 (the generator's ceiling)")


def test_a_broker_that_does_not_take_the_load_is_the_ceiling() -> None:
    refused = Probe(1100, "invalid", blamed="broker")
    probes = [Probe(909, "sustained"), refused, refused, Probe(909, "sustained", "confirm")]
    answer = advance(Target(1000, 0.10), probes)
    assert answer == Answer("ceiling", 909, None, True, "at least 909 (the broker's ceiling)")


def test_invalid_from_the_start() -> None:
    answer, probes = search(Target(1000, 0.10), lambda step: "invalid")
    assert answer.outcome == "invalid"
    assert [probe.value for probe in probes] == [909, 909, 621, 621], "an easier value gets a chance as well"
    alone, probes = search(Target(1000, 0.10, lowest=909), lambda step: "invalid")
    assert (alone.outcome, len(probes)) == ("invalid", 2)


def test_a_first_guess_above_what_can_be_sent_is_not_the_end() -> None:
    """The generator can send 800, the engine sustains more; or less, and is found as usual."""

    def judge(capacity: int) -> Judge:
        return lambda step: "invalid" if step.value > 800 else up_to(capacity)(step)

    answer, probes = search(Target(1000, 0.10), judge(5000))
    assert (answer.outcome, answer.best, answer.confirmed) == ("ceiling", 751, True)
    assert "the generator's ceiling" in answer.note
    assert limited_by(probes) == "generator"
    answer, _ = search(Target(1000, 0.10), judge(400))
    assert (answer.outcome, answer.note) == ("found", "")
    assert answer.best is not None and answer.beyond is not None
    assert answer.best <= 400 < answer.beyond <= 1.1 * answer.best + 1


@pytest.mark.parametrize("word", ["sustained", "not sustained", "invalid"])
def test_a_confirmation_that_fails_lowers_the_interval_and_says_so(word: ProbeVerdict) -> None:
    probes = [
        Probe(909, "sustained"),
        Probe(1100, "not sustained"),
        Probe(1000, "sustained", "bisect"),
        Probe(1100, "not sustained", "repeat"),
        Probe(1000, "not sustained", "confirm"),
    ]
    assert advance(Target(1000, 0.10), probes) == Next(909, "confirm")
    answer = advance(Target(1000, 0.10), [*probes, Probe(909, word, "confirm")])
    if word == "sustained":
        note = "1000: not sustained in the confirming run, so a lower value was tried"
        assert answer == Answer("found", 909, 1000, True, note)
    elif word == "invalid":
        assert answer == Next(909, "confirm")
    else:
        assert isinstance(answer, Next) and answer.value < 909, "nothing is sustained any more"


def test_a_confirmation_that_fails_does_not_leave_the_interval_wide() -> None:
    """As seen: the next sustained rate was far below."""
    probes = [
        Probe(73_357, "sustained"),
        Probe(146_714, "not sustained"),
        Probe(103_742, "sustained", "bisect"),
        Probe(113_132, "not sustained", "bisect"),
        Probe(113_132, "not sustained", "repeat"),
        Probe(103_742, "not sustained", "confirm"),
    ]
    assert advance(Target(81_000, 0.10), probes) == Next(94_311, "confirm")
    answer = advance(Target(81_000, 0.10), [*probes, Probe(94_311, "sustained", "confirm")])
    assert isinstance(answer, Answer) and (answer.best, answer.beyond, answer.confirmed) == (94_311, 103_742, True)
    answer = advance(Target(81_000, 0.10), [*probes, Probe(94_311, "not sustained", "confirm")])
    note = "103742 and 94311: not sustained in the confirming run, so a lower value was tried"
    assert answer == Answer("found", 73_357, 94_311, False, note)
    twice = [Probe(94_311, "invalid", "confirm")] * 2
    assert advance(Target(81_000, 0.10), [*probes, *twice[:1]]) == Next(94_311, "confirm")
    answer = advance(Target(81_000, 0.10), [*probes, *twice])
    assert isinstance(answer, Answer) and (answer.best, answer.beyond, answer.confirmed) == (73_357, 103_742, False)


def test_a_resource_whose_confirmation_fails_is_given_one_more() -> None:
    probes = [Probe(4, "sustained"), Probe(2, "sustained"), Probe(1, "not sustained"), Probe(1, "not sustained")]
    target = Target(2, 0.10, more_is_harder=False)
    assert advance(target, [*probes, Probe(2, "not sustained", "confirm")]) == Next(3, "confirm")


def test_a_confirmation_that_leaves_nothing_sustained_lets_the_search_go_on() -> None:
    probes = [Probe(909, "sustained"), Probe(990, "not sustained"), Probe(990, "not sustained", "repeat")]
    step = advance(Target(1000, 0.10), [*probes, Probe(909, "not sustained", "confirm")])
    assert isinstance(step, Next) and step.value < 909


@pytest.mark.parametrize("words", [("invalid",), ("invalid", "invalid")])
def test_an_invalid_confirmation_is_repeated_once(words: tuple[ProbeVerdict, ...]) -> None:
    probes = [Probe(909, "sustained"), Probe(990, "not sustained"), Probe(990, "not sustained", "repeat")]
    step = advance(Target(1000, 0.10), [*probes, *(Probe(909, word, "confirm") for word in words)])
    if len(words) == 1:
        assert step == Next(909, "confirm")
    else:
        assert isinstance(step, Answer)
        assert (step.outcome, step.best, step.confirmed) == ("found", 909, False)


def test_a_ceiling_that_could_not_be_confirmed_is_a_ceiling() -> None:
    probes = [Probe(909, "sustained"), Probe(1100, "invalid"), Probe(1100, "invalid")]
    answer = advance(Target(1000, 0.10), [*probes, Probe(909, "invalid", "confirm"), Probe(909, "invalid", "confirm")])
    assert answer == Answer("ceiling", 909, None, False, "the confirming run was INVALID, twice")


def test_below_a_rate_whose_confirmation_failed_the_edge_is_near() -> None:
    probes = [Probe(1000, "sustained"), Probe(1100, "not sustained"), Probe(1100, "not sustained", "repeat")]
    assert advance(Target(1100, 0.10), [*probes, Probe(1000, "not sustained", "confirm")]) == Next(909, "bracket")


@pytest.mark.parametrize("height", range(1, 6))
@pytest.mark.parametrize("guess", [1, 3, 5])
def test_a_small_whole_number_is_found_exactly_and_only_whole_numbers_are_probed(height: int, guess: int) -> None:
    target = Target(guess, 0.10, lowest=1, highest=5, counted=True)
    answer, probes = search(target, up_to(height))
    assert (answer.best, answer.beyond) == (height, height + 1 if height < 5 else None)
    assert answer.outcome == ("found" if height < 5 else "ceiling")
    assert {probe.value for probe in probes} <= {1, 2, 3, 4, 5}
    assert len(probes) <= 6


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_counted_value_is_as_narrow_as_the_resolution_without_rounding(capacity: int, guess: int) -> None:
    """Of ten keys one counts: rounding must not hide that 11 is sustained."""
    answer, _ = search(Target(guess, 0.10, highest=1001, counted=True), up_to(capacity))
    assert answer.best is not None and answer.beyond is not None
    assert answer.best <= capacity < answer.beyond
    assert answer.beyond <= max(1.1 * answer.best, answer.best + 1)


@given(st.integers(10, 1000), st.sampled_from([10, 100, 1000]))
def test_the_smallest_period_that_is_sustained(least_ms: int, guess: int) -> None:
    target = Target(guess, 0.10, lowest=10, highest=1000, more_is_harder=False, counted=True)
    answer, _ = search(target, from_(least_ms))
    assert answer.best is not None and answer.best >= least_ms
    if least_ms > 10:
        assert answer.beyond is not None and answer.beyond < least_ms
        assert answer.best <= max(1.1 * answer.beyond, answer.beyond + 1)
    else:
        assert (answer.best, answer.beyond, answer.outcome) == (10, None, "ceiling")


@given(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24]), st.sampled_from([1, 4, 24]))
def test_values_that_cannot_be_set_are_skipped(least: int, guess: int) -> None:
    """A period has to divide a window of 24 s."""
    divisors = [value for value in range(1, 25) if 24 % value == 0]
    target = Target(guess, 0.10, 1, 24, more_is_harder=False, counted=True, accepts=lambda value: 24 % value == 0)
    answer, probes = search(target, from_(least))
    assert {probe.value for probe in probes} <= {*divisors}
    assert answer.best == least
    assert answer.beyond == (divisors[divisors.index(least) - 1] if least > 1 else None)


@given(st.floats(0.02, 90.0), st.floats(0.1, 50.0), st.booleans())
def test_fractions_are_searched_to_the_resolution(edge: float, guess: float, more_is_harder: bool) -> None:
    target = Target(guess, 0.10, 0.01, 100.0, more_is_harder, whole=False)
    answer, probes = search(target, up_to(edge) if more_is_harder else from_(edge))
    assert answer.outcome == "found"
    assert answer.best is not None and answer.beyond is not None
    low, high = sorted((answer.best, answer.beyond))
    assert low <= edge <= high
    assert high <= 1.1 * low
    assert all(float(f"{probe.value:.4g}") == probe.value for probe in probes)


@given(st.integers(1000, 100_000), st.floats(1.1, 10.0), st.floats(0.2, 5.0))
def test_an_edge_below_what_can_be_sent_is_found_and_above_it_the_bound_is_near(
    ceiling: int, factor: float, off: float
) -> None:
    def judge(capacity: float) -> Judge:
        return lambda step: "invalid" if step.value > ceiling else up_to(capacity)(step)

    below = ceiling / factor
    answer, _ = search(Target(min(round(below * off), ceiling), 0.10), judge(below))
    if answer.beyond is None:
        assert answer.best is not None
        assert ceiling <= answer.best * 1.1**2 + 1, "only where the edge is as near as the resolution shows"
    else:
        assert answer.best is not None
        assert answer.best <= below < answer.beyond <= 1.1 * answer.best + 1
    answer, probes = search(Target(min(round(ceiling * off), ceiling), 0.10), judge(ceiling * factor))
    assert (answer.outcome, answer.beyond) == ("ceiling", None)
    assert answer.best is not None and answer.best <= ceiling < answer.best * 1.1**2 + 2
    assert len(probes) <= 25


def test_what_kept_the_load_from_the_engine() -> None:
    late = [Probe(900, "sustained"), Probe(1089, "invalid"), Probe(1089, "invalid")]
    assert limited_by(late) == "generator"
    assert limited_by([*late[:2], Probe(1089, "invalid", blamed="broker")]) == "broker"
    assert limited_by(late[:2]) == ""
    assert limited_by([late[0], Probe(900, "invalid", "confirm"), Probe(900, "invalid", "confirm")]) == ""
