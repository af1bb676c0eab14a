"""The line through points, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from streamgauge.regression import fit

# x: 1, 2, 4 (mean 7/3, squared distances 14/3); y: 10, 19, 41 (mean 70/3). Sum of the products of the distances:
# 212 - 7 × 70/3 = 146/3. Slope 146/14 = 73/7, intercept 70/3 - 73/7 × 7/3 = -1.
# Residuals 4/7, -6/7, 2/7: their squares sum to 56/49 = 8/7, which with one degree of freedom is the variance.
POINTS = [(1, 10), (2, 19), (4, 41)]
T = 12.7062
"""Student's t at 97.5 % with one degree of freedom."""


def test_the_line_and_its_interval() -> None:
    line = fit(POINTS)
    assert line is not None
    assert line.slope == pytest.approx(73 / 7)
    assert line.intercept == pytest.approx(-1)
    assert line.at(8) == pytest.approx(8 * 73 / 7 - 1)
    slope_error = (8 / 7 / (14 / 3)) ** 0.5
    assert line.slope_interval == pytest.approx((73 / 7 - T * slope_error, 73 / 7 + T * slope_error), rel=1e-5)
    intercept_error = (8 / 7 * (1 / 3 + (7 / 3) ** 2 / (14 / 3))) ** 0.5
    assert line.intercept_interval == pytest.approx((-1 - T * intercept_error, -1 + T * intercept_error), rel=1e-5)
    # Of the total 14 × (73/7)² / 3 + 8/7, the residuals are 8/7.
    assert line.r_squared == pytest.approx(1 - (8 / 7) / (14 / 3 * (73 / 7) ** 2 + 8 / 7))


def test_the_interval_of_the_line_is_narrowest_in_the_middle() -> None:
    line = fit(POINTS)
    assert line is not None
    ends = line.interval_at(4)
    error = (8 / 7 * (1 / 3 + (4 - 7 / 3) ** 2 / (14 / 3))) ** 0.5
    assert ends == pytest.approx((285 / 7 - T * error, 285 / 7 + T * error), rel=1e-5)
    widths = [high - low for low, high in (line.interval_at(x) or (0.0, 0.0) for x in (1, 7 / 3, 4))]
    assert widths[1] == min(widths) > 0


def test_two_points_have_a_line_and_no_interval() -> None:
    line = fit([(1, 10), (3, 30)])
    assert line is not None
    assert (line.slope, line.intercept) == pytest.approx((10, 0))
    assert (line.slope_interval, line.intercept_interval, line.interval_at(2)) == (None, None, None)


def test_a_level_line() -> None:
    line = fit([(1, 10), (2, 10), (4, 10)])
    assert line is not None
    assert (line.slope, line.r_squared) == (0, 1)
    assert line.slope_interval == pytest.approx((0, 0))


@pytest.mark.parametrize("points", [[], [(1, 10)], [(2, 10), (2, 12)]])
def test_fewer_than_two_places_have_no_line(points: list[tuple[float, float]]) -> None:
    assert fit(points) is None
