"""The page of a reproduced study in a real browser: every figure has marks, no errors, and it fits a phone."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import HOSTILE, NEEDS_BROWSER, Opened
from playwright.sync_api import Browser

from streamgauge import report
from streamgauge.studies.ospbench import STUDY as OSPBENCH
from streamgauge.studies.stage_latency import STUDY as STAGE_LATENCY

UNIT = Path(__file__).parents[1] / "unit" / "report"
STUDIES = {"ospbench": OSPBENCH, "stage-latency": STAGE_LATENCY}
FIGURES = {"ospbench": 19, "stage-latency": 2}

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def synthetic() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(UNIT))
        yield importlib.import_module("synthetic_study")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> dict[str, str]:
    """The address of each study's page, with one INVALID run and one not run, with a hostile string as its reason."""
    by_name = {}
    for name, study in STUDIES.items():
        out = tmp_path_factory.mktemp("studies") / name
        first, *rest, last = study.experiments
        rows = [
            synthetic.row(out, first, verdict="INVALID"),
            *(synthetic.row(out, experiment) for experiment in rest),
            synthetic.row(out, last),
            synthetic.not_run(first, HOSTILE, engine=HOSTILE),
        ]
        synthetic.write_reproduction(out, name, study, rows)
        by_name[name] = report.write_study(out, study).as_uri()
    return by_name


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        ("ospbench", 400, True),
        pytest.param("ospbench", 1280, False, marks=pytest.mark.full),
        pytest.param("stage-latency", 400, True, marks=pytest.mark.full),
        pytest.param("stage-latency", 1280, False, marks=pytest.mark.full),
    ],
)
def test_every_figure_of_a_study_is_drawn(
    browser: Browser, pages: dict[str, str], name: str, width: int, dark: bool
) -> None:
    opened = Opened(browser, pages[name], width, dark)
    marks = opened.marks()
    assert len(marks) == FIGURES[name]
    assert all(marks.values()), marks
    assert opened.complaints == []
    assert opened.requests == [pages[name]]
    assert opened.fits()
    assert opened.misplaced() == []
    assert opened.page.locator("img").count() == 0
    assert HOSTILE in opened.page.inner_text("#experiments")
    opened.page.close()


@pytest.mark.full
@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_has_marks_for_each_of_three_engines(
    browser: Browser, synthetic: Any, tmp_path: Path, name: str
) -> None:
    study = STUDIES[name]
    synthetic.write_reproduction(tmp_path, name, study, synthetic.three_engines(tmp_path, study))
    address = report.write_study(tmp_path, study).as_uri()
    for width in (400, 1280):
        opened = Opened(browser, address, width)
        drawn = opened.drawn()
        assert len(drawn) == FIGURES[name]
        for figure, names in drawn.items():
            lacking = [engine for engine in synthetic.THREE if not any(one.startswith(engine) for one in names)]
            assert not lacking, (figure, names)
        assert opened.complaints == []
        assert opened.fits()
        opened.page.close()


@pytest.mark.full
def test_every_figure_has_its_numbers_in_text(browser: Browser, pages: dict[str, str]) -> None:
    opened = Opened(browser, pages["ospbench"], 1280)
    labels = opened.page.locator(".plot").evaluate_all("plots => plots.map(plot => plot.getAttribute('aria-label'))")
    assert len(labels) == FIGURES["ospbench"]
    assert all(any(character.isdigit() for character in label) for label in labels), labels
    opened.page.close()
