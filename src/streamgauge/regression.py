"""A straight line through points, with its 95 % interval: ordinary least squares and Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
Ends = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """``y = intercept + slope × x``. Intervals need three points: two leave nothing to estimate the spread from."""

    slope: float
    intercept: float
    points: int
    r_squared: float
    residual: float
    """The standard deviation of the points around the line; 0 of two points."""
    mean_x: float
    spread_x: float
    """The sum of the squared distances of x from its mean."""

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x

    @property
    def slope_interval(self) -> Ends | None:
        return self._around(self.slope, self.residual / math.sqrt(self.spread_x))

    @property
    def intercept_interval(self) -> Ends | None:
        return self.interval_at(0)

    def interval_at(self, x: float) -> Ends | None:
        """Where the line itself, not a further point, lies at x."""
        error = self.residual * math.sqrt(1 / self.points + (x - self.mean_x) ** 2 / self.spread_x)
        return self._around(self.at(x), error)

    def _around(self, middle: float, error: float) -> Ends | None:
        from scipy.stats import t

        if self.points < 3:
            return None
        half = float(t.ppf((1 + CONFIDENCE) / 2, self.points - 2)) * error
        return middle - half, middle + half


def fit(points: Sequence[tuple[float, float]]) -> Line | None:
    """None where the points have fewer than two different x."""
    from scipy.stats import linregress

    xs, ys = [x for x, _ in points], [y for _, y in points]
    if len({*xs}) < 2:
        return None
    found = linregress(xs, ys)
    slope, intercept, mean_x = float(found.slope), float(found.intercept), sum(xs) / len(xs)
    # Not linregress's own errors and r: they are not numbers where all y are equal.
    left = sum((y - intercept - slope * x) ** 2 for x, y in points)
    return Line(
        slope=slope,
        intercept=intercept,
        points=len(points),
        r_squared=1.0 if len({*ys}) == 1 else float(found.rvalue) ** 2,
        residual=math.sqrt(left / (len(points) - 2)) if len(points) > 2 else 0.0,
        mean_x=mean_x,
        spread_x=sum((x - mean_x) ** 2 for x in xs),
    )
