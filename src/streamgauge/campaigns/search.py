"""Looks for the edge between what is sustained and what is not: pure, from the probes so far to the next one.

The load is searched upwards (the highest rate that is sustained); a resource, of which more helps, downwards (the
smallest value that sustains the load). Below, *harder* means a higher rate or less of the resource.

1. Two probes round the first guess, so far apart that one more between them is enough if the guess is right. A guess
   that another search found is probed itself.
2. While the edge is not between two probes: steps that grow, away from the guess.
3. The geometric middle, until the interval is as narrow as the resolution or no whole number lies inside. Of values
   that may be fractions, four digits are probed.
4. The *not sustained* that bounds the interval, once more if it is within 10 % of the best sustained one.
5. A confirming run of full length of the best sustained one; if that fails, another one, easier by the resolution.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from streamgauge.model.capacity import Purpose, SearchOutcome
from streamgauge.notices import NOTHING, Notice, joined, notice

ProbeVerdict = Literal["sustained", "not sustained", "undecided", "invalid"]

NEAR = 1.10
"""A *not sustained* closer to the best sustained value than this factor is repeated once."""
MOST_STEP = 2.0
"""The largest step towards the harder side, where a wrong probe costs the most."""
MOST_CONFIRMING = 2
"""Values for which a confirming run is tried."""
MOST_STEPS = 64
"""The largest step towards the easier side, in powers of the resolution."""
MOST_INVALID = 2
"""Values that may be INVALID twice while nothing was sustained: the first may just be too high for the generator."""
STEPS_AFTER_INVALID = 4
"""How much easier the second one is, in powers of the resolution."""
GENERATOR = "generator"
"""What is the limit where a load that could not be sent has no other cause."""


@dataclass(frozen=True)
class Target:
    """What is searched: where to begin, between which values, how closely, and in which direction."""

    guess: float
    resolution: float
    lowest: float = 1
    highest: float = 10_000_000
    more_is_harder: bool = True
    """Else less of it is: a resource."""
    whole: bool = True
    """Whether only whole numbers can be probed."""
    counted: bool = False
    """Whether neighbouring whole numbers differ by more than rounding: cores and heights do, records/s do not."""
    found_before: bool = False
    """Whether the guess is what another search found under similar conditions: then it is probed first, itself."""
    accepts: Callable[[float], bool] = lambda value: True
    """Whether a value can be set. Values between two that can may be refused: a period has to divide its window."""


@dataclass(frozen=True)
class Probe:
    value: float
    verdict: ProbeVerdict
    purpose: Purpose = "bracket"
    blamed: str = ""
    """Of an invalid one: what did not take the load, e.g. *server*; empty where that is not why."""


@dataclass(frozen=True)
class Next:
    """The value to probe now."""

    value: float
    purpose: Purpose


@dataclass(frozen=True)
class Answer:
    """The end of the search: the best sustained value and the nearest one that was not; None: there is none."""

    outcome: SearchOutcome
    best: float | None
    beyond: float | None
    confirmed: bool
    note: Notice = NOTHING


def advance(target: Target, probes: Sequence[Probe]) -> Next | Answer:
    """What to do after these probes. The same probes always give the same answer."""
    return _Search(target, probes).advance()


def limited_by(probes: Sequence[Probe]) -> str:
    """What kept the load of a probe from the engine, twice: the server by its name, else the *generator*.

    Empty where no value was INVALID twice.
    """
    values = _twice_invalid(probes)
    if not values:
        return ""
    return next((probe.blamed for probe in probes if probe.value in values and probe.blamed), GENERATOR)


def _twice_invalid(probes: Sequence[Probe]) -> list[float]:
    """The values that were INVALID more than once, confirming runs apart."""
    counts = Counter(p.value for p in probes if p.verdict == "invalid" and p.purpose != "confirm")
    return [value for value, count in counts.items() if count > 1]


def four_digits(value: float) -> float:
    return float(f"{value:.4g}")


class _Search:
    def __init__(self, target: Target, probes: Sequence[Probe]) -> None:
        self._target = target
        self._probes = probes
        self._sign = 1 if target.more_is_harder else -1
        last_verdicts = {probe.value: probe.verdict for probe in probes if probe.verdict != "invalid"}
        sustained = [value for value, verdict in last_verdicts.items() if verdict == "sustained"]
        self._sustained = sorted(sustained, key=self._difficulty)
        self._best = self._sustained[-1] if sustained else None
        failed = [
            value
            for value, verdict in last_verdicts.items()
            if verdict != "sustained" and (self._best is None or self._difficulty(value) > self._difficulty(self._best))
        ]
        self._beyond = min(failed, key=self._difficulty) if failed else None
        # Beyond what the engine itself does not sustain, it does not matter what the load can do.
        best = -math.inf if self._best is None else self._difficulty(self._best)
        beyond = math.inf if self._beyond is None else self._difficulty(self._beyond)
        self._twice_invalid = [value for value in _twice_invalid(probes) if best < self._difficulty(value) <= beyond]

    def advance(self) -> Next | Answer:
        if self._probes and self._probes[-1].purpose == "confirm":
            return self._after_confirming()
        if self._twice_invalid:
            return self._below_ceiling() if self._best is not None else self._after_invalid()
        return self._go_on()

    def _below_ceiling(self) -> Next | Answer:
        """The engine's own edge may still lie between the best value and what could not be sent, if they are apart."""
        assert self._best is not None
        last = self._probes[-1]
        if last.verdict == "invalid" and last.value not in self._twice_invalid:
            return Next(last.value, last.purpose)
        ceiling = min(self._twice_invalid, key=self._difficulty)
        low, high = sorted((self._best, ceiling))
        if high <= low * (1 + self._target.resolution) ** 2 + self._apart:
            return self._confirm()
        middle = self._nearest(self._rounded(math.sqrt(low * high)), low + self._apart, high - self._apart)
        return self._confirm() if middle is None else Next(middle, "bisect")

    def _after_invalid(self) -> Next | Answer:
        """Nothing was sustained, and a value was INVALID twice: the load may be too high for the generator."""
        last = self._probes[-1].value
        if last not in self._twice_invalid:
            return self._go_on()
        upwards = self._target.more_is_harder
        low = self._target.lowest if upwards else last + self._apart
        high = last - self._apart if upwards else self._target.highest
        wanted = self._scaled(last, (1 + self._target.resolution) ** -STEPS_AFTER_INVALID)
        easier = self._nearest(wanted, low, high)
        if easier is None or easier == last or len(self._twice_invalid) >= MOST_INVALID:
            return self._invalid(last)
        return Next(easier, "bracket")

    def _go_on(self) -> Next | Answer:
        if self._probes and self._probes[-1].verdict == "invalid":
            return Next(self._probes[-1].value, self._probes[-1].purpose)
        if (middle := self._middle()) is not None:
            return Next(middle, "bisect")
        if self._best is not None and self._beyond is not None:
            return self._settle(self._beyond)
        if (outward := self._outward()) is not None:
            return Next(outward, "bracket")
        if self._best is not None:
            return self._confirm()
        return Answer("missed", None, self._beyond, False, notice("nothing-sustained", value=self._beyond))

    def _middle(self) -> float | None:
        """The geometric middle of a bracket that is still too wide; None when there is none."""
        if self._best is None or self._beyond is None:
            return None
        low, high = sorted((self._best, self._beyond))
        if self._are_within(1 + self._target.resolution):
            return None
        return self._nearest(self._rounded(math.sqrt(low * high)), low + self._apart, high - self._apart)

    def _are_within(self, factor: float) -> bool:
        """Whether the ends of the interval are no further apart than that."""
        assert self._best is not None and self._beyond is not None
        low, high = sorted((self._best, self._beyond))
        # Both ends of a rate were rounded to whole numbers: that must decide nothing. Of ten cores one counts.
        rounded = self._target.whole and self._target.more_is_harder and not self._target.counted
        return high <= low * factor + (1 if rounded else 0)

    def _outward(self) -> float | None:
        """The next value on the way to a bracket; None at the end of the range."""
        first = 1 + self._target.resolution
        near = self._target.found_before
        if self._best is None and self._beyond is None:
            begin = self._target.guess if near else self._scaled(self._target.guess, 1 / first)
            return self._nearest(begin, self._target.lowest, self._target.highest)
        towards_harder = self._best is not None
        base = self._best if self._best is not None else self._beyond
        assert base is not None
        doublings = max(self._steps_outward() - near, 0)
        factor = first ** min(2.0**doublings, MOST_STEPS)
        moved = self._scaled(base, min(factor, MOST_STEP) if towards_harder else 1 / factor)
        upwards = towards_harder == self._target.more_is_harder
        low = base + self._apart if upwards else self._target.lowest
        high = self._target.highest if upwards else base - self._apart
        outward = self._nearest(moved, low, high)
        return outward if outward != base else None

    def _steps_outward(self) -> int:
        """How many of the last probes went the same way without finding the other side; at least 1.

        0 where a second run at a value has just contradicted the first: the edge is near.
        """
        ended = [probe for probe in self._probes if probe.verdict != "invalid"]
        last = ended[-1]
        if last.purpose in ("repeat", "confirm"):
            return 0
        steps = takewhile(lambda probe: (probe.verdict, probe.purpose) == (last.verdict, "bracket"), reversed(ended))
        return max(1, len(list(steps)))

    def _settle(self, beyond: float) -> Next | Answer:
        tries = sum(probe.value == beyond and probe.verdict != "invalid" for probe in self._probes)
        if tries == 1 and self._are_within(NEAR):
            return Next(beyond, "repeat")
        return self._confirm()

    def _confirm(self) -> Next:
        assert self._best is not None
        return Next(self._best, "confirm")

    def _after_confirming(self) -> Next | Answer:
        last = self._probes[-1]
        if last.verdict == "sustained":
            return self._confirmed(last.value)
        if last.verdict == "invalid":
            tries = sum((probe.value, probe.purpose) == (last.value, "confirm") for probe in self._probes)
            if tries < 2:
                return Next(last.value, "confirm")
            outcome: SearchOutcome = "ceiling" if self._beyond is None else "found"
            return Answer(outcome, self._best, self._beyond, False, notice("confirming-invalid"))
        if self._best is None:
            return self._go_on()
        if len({probe.value for probe in self._probes if probe.purpose == "confirm"}) < MOST_CONFIRMING:
            return Next(self._one_step_easier(last.value, self._best), "confirm")
        return Answer("found", self._best, self._beyond, False, self._note_of_confirming())

    def _one_step_easier(self, value: float, best: float) -> float:
        """By the resolution, but not easier than what was sustained."""
        moved = self._scaled(value, 1 / (1 + self._target.resolution))
        low, high = sorted((best, value - self._sign * self._apart))
        nearest = self._nearest(moved, low, high)
        return best if nearest is None else nearest

    def _note_of_confirming(self) -> Notice:
        confirming = [probe for probe in self._probes if probe.purpose == "confirm"]
        failed = [str(probe.value) for probe in confirming if probe.verdict not in ("sustained", "invalid")]
        return notice("not-confirmed", values=" and ".join(failed)) if failed else NOTHING

    def _confirmed(self, best: float) -> Answer:
        if self._beyond is None:
            return Answer("ceiling", best, None, True, notice("ceiling", value=best, limited_by=self._ceiling()))
        invalid = self._twice_invalid
        wide = notice("probes-invalid-wide", value=invalid[0]) if invalid else NOTHING
        note = joined(part for part in (self._note_of_confirming(), wide) if part)
        return Answer("found", best, self._beyond, True, note)

    def _ceiling(self) -> str:
        """What the search ran into instead of the engine's edge."""
        blamed = limited_by(self._probes)
        return f"the {blamed}'s ceiling" if blamed else "the end of the range"

    def _invalid(self, value: float) -> Answer:
        return Answer("invalid", None, self._beyond, False, notice("probes-invalid", value=value))

    def _difficulty(self, value: float) -> float:
        return self._sign * value

    def _scaled(self, value: float, factor: float) -> float:
        """``value`` made harder by a factor; easier when the factor is below 1."""
        return self._rounded(value * factor**self._sign)

    def _rounded(self, value: float) -> float:
        return round(value) if self._target.whole else four_digits(value)

    @property
    def _apart(self) -> int:
        """How far two values are apart at least."""
        return 1 if self._target.whole else 0

    def _nearest(self, wanted: float, low: float, high: float) -> float | None:
        """The value nearest to ``wanted`` that can be set, from ``low`` to ``high``; None when there is none."""
        if low > high:
            return None
        wanted = min(max(wanted, low), high)
        if not self._target.whole:
            return wanted
        for distance in range(math.floor(high - low) + 1):
            for value in (wanted - distance, wanted + distance):
                if low <= value <= high and self._target.accepts(value):
                    return value
        return None
