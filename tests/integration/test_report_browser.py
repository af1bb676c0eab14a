"""The report in a real browser: it renders, makes no network requests, fits a phone, and supports dark mode."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import HOSTILE, NEEDS_BROWSER, Opened
from playwright.sync_api import Browser

from run_files import write_manifest
from streamgauge import report
from streamgauge.model.comparison import Comparison
from streamgauge.model.samples import ResourceSample
from streamgauge.report import history
from streamgauge.report.capacity import write_capacity
from streamgauge.report.comparison import write_comparison
from streamgauge.report.source import read
from streamgauge.rundir import RunDir

SYNTHETIC = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "report" / "synthetic_run.py"))

pytestmark = NEEDS_BROWSER

VIEWS = [
    (420, True),
    *(pytest.param(*view, marks=pytest.mark.full) for view in ((420, False), (1400, True), (1400, False))),
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of the report of each kind of run."""
    by_name = {}
    for kind in ("valid", "invalid", "failed", "bursts", "faults", "preloaded"):
        run = SYNTHETIC[f"write_{kind}"](tmp_path_factory.mktemp("runs") / kind)
        by_name[kind] = report.write(run).as_uri()
    other = SYNTHETIC["write_invalid"](tmp_path_factory.mktemp("runs") / "other")
    with_baseline = SYNTHETIC["write_valid"](tmp_path_factory.mktemp("runs") / "against")
    by_name["against"] = report.write(with_baseline, other).as_uri()
    hostile = SYNTHETIC["write_valid"](tmp_path_factory.mktemp("runs") / "hostile")
    manifest = SYNTHETIC["manifest"]()
    engine = {**manifest["engine"], "title": HOSTILE, "version": HOSTILE}
    write_manifest(hostile, {**manifest, "engine": engine, HOSTILE: HOSTILE})
    samples = [sample.with_changes(role=HOSTILE) for sample in hostile.samples(ResourceSample)]
    (hostile.path / "samples" / "resources.jsonl").unlink()
    hostile.append_samples(*samples)
    by_name["hostile"] = report.write(hostile).as_uri()
    return by_name


@pytest.mark.parametrize(
    ("kind", "figures", "width"),
    [
        pytest.param(kind, figures, width, marks=() if width == always else pytest.mark.full)
        for kind, figures, always in (
            *(("valid", 12, 1280), ("hostile", 12, None), ("bursts", 14, None)),
            *(("invalid", 13, None), ("failed", 6, None), ("faults", 15, None), ("preloaded", 10, None)),
        )
        for width in (400, 1280)
    ],
)
def test_report_draws_and_fits(browser: Browser, reports: dict[str, str], kind: str, figures: int, width: int) -> None:
    opened = Opened(browser, reports[kind], width)
    marks = opened.marks()
    assert len(marks) == figures
    assert all(marks.values()), marks
    assert opened.complaints == []
    assert opened.requests == [reports[kind]]
    assert opened.fits()
    assert opened.misplaced() == []
    opened.page.close()


@pytest.mark.parametrize(("width", "dark"), VIEWS)
@pytest.mark.parametrize("kind", ["faults", pytest.param("against", marks=pytest.mark.full)])
def test_nothing_overlaps_or_is_cut_off(
    browser: Browser, reports: dict[str, str], kind: str, width: int, dark: bool
) -> None:
    opened = Opened(browser, reports[kind], width, dark)
    assert opened.misplaced() == []
    assert opened.fits()
    assert opened.complaints == []
    opened.page.close()


@pytest.fixture(scope="module")
def other_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of a capacity search, of the history and of a comparison."""
    out = tmp_path_factory.mktemp("pages")
    probe = {"purpose": "bracket", "reason": "", "weak": False, "seconds": 60.0, "seconds_saved": 0.0}
    found = ((918, "sustained", 10.0), (1000, "sustained", 12.0), (1111, "not sustained", 900.0))
    probes = [
        {**probe, "value": value, "verdict": verdict, "directory": f"probes/{value}"}
        | {"total_p50": p50, "total_p99": 3 * p50}
        for value, verdict, p50 in found
    ]
    about = {"format": 1, "scenario": "ospbench/throughput", "engine": "echo", "rule": "slope", "slo": [], "note": ""}
    about |= {"resolution": 0.1, "over": "rate_per_s", "unit": "records/s", "outcome": "found", "confirmed": True}
    about |= {"interval": [1000, 1100], "best_latency_ms": {"p50": 12.0, "p99": 36.0}, "guess": 1010}
    about |= {"seconds": 180.0, "seconds_saved": 0.0, "settings": {"stage": "parse", "profile": "laptop"}}
    (out / "capacity.json").write_text(json.dumps({**about, "probes": probes}))
    for name in ("valid", "invalid", "preloaded"):
        SYNTHETIC[f"write_{name}"](out / "runs" / name)
    runs = history.find(out / "runs")
    sources = [read(RunDir.open(out / "runs" / name)) for name in ("valid", "invalid")]
    engine = {"name": "spark", "version": "4.2.0", "options": {}}
    side = {"path": "runs/a", "engine": engine, "runs": ["a"], "values": [250.0], "median": 250.0}
    word = {"format": 1, "measure": "total_p50_ms", "word": "cannot tell", "ratio": 1.0, "interval": [0.9, 1.1]}
    compared = Comparison.model_validate({**word, "seed": 1, "runs_needed": 3, "notes": [], "a": side, "b": side})
    comparison = write_comparison(compared, out / "comparison.html", sources[:1], sources[1:])
    return {
        "comparison": comparison.as_uri(),
        "capacity": write_capacity(out).as_uri(),
        "history": history.write(*runs, out / "history.html").as_uri(),
    }


@pytest.mark.parametrize(("width", "dark"), VIEWS)
@pytest.mark.parametrize("name", ["capacity", "history", "comparison"])
def test_other_pages_draw_and_fit(
    browser: Browser, other_pages: dict[str, str], name: str, width: int, dark: bool
) -> None:
    opened = Opened(browser, other_pages[name], width, dark)
    assert opened.marks() and all(opened.marks().values())
    assert opened.misplaced() == []
    assert opened.fits()
    assert opened.complaints == []
    assert opened.requests == [other_pages[name]]
    opened.page.close()


@pytest.fixture(scope="module")
def valid_page(browser: Browser, reports: dict[str, str]) -> Iterator[Opened]:
    """One page for the tests that click on it; each leaves it as it was."""
    opened = Opened(browser, reports["valid"], 1280)
    yield opened
    opened.page.close()


def test_figures_are_saved_as_svg_and_csv(valid_page: Opened) -> None:
    opened = valid_page
    assert opened.page.locator("button[data-save]").count() == 2 * opened.page.locator(".plot").count()
    content = {}
    for name, format_name in (("latency-total", "csv"), ("distribution", "csv"), ("heatmap", "csv"), ("cpu", "svg")):
        with opened.page.expect_download() as download:
            opened.page.locator(f'button[data-save="{name}"][data-format="{format_name}"]').click()
        assert download.value.suggested_filename == f"{name}.{format_name}"
        content[name] = Path(download.value.path()).read_text(encoding="utf-8")
    latency = content["latency-total"].splitlines()
    assert latency[0] == "series,seconds since the load started,end-to-end latency (ms)"
    assert {line.split(",")[0] for line in latency[1:]} == {"p50", "p99", "max"}
    assert content["distribution"].startswith("series,1/(1 - quantile),latency (ms),percentile (%)\n")
    assert content["heatmap"].startswith("series,from second,from ms,share of the results (%)\n")
    assert content["cpu"].startswith("<svg") and ">broker<" in content["cpu"], "with a legend of its own"
    assert opened.complaints == []


def test_an_entry_of_the_legend_hides_its_line(valid_page: Opened) -> None:
    page = valid_page.page
    assert valid_page.drawn()["figure-cpu"] == ["broker", "engine", "load"]
    for lines in (["broker", "load"], ["broker", "engine", "load"]):
        page.locator('button[data-toggle="cpu"]', has_text="engine").click()
        page.wait_for_function(f"() => document.querySelectorAll('#figure-cpu .trace').length === {len(lines)}")
        assert valid_page.drawn()["figure-cpu"] == lines


def test_a_term_leads_to_its_definition(valid_page: Opened) -> None:
    page = valid_page.page
    page.locator("#backlog a.term", has_text="measured interval").click()
    assert page.locator("#term-measured-interval").is_visible()
    assert page.evaluate("() => document.querySelector(':target').id") == "term-measured-interval"


def test_hostile_strings_are_shown_and_not_run(browser: Browser, reports: dict[str, str]) -> None:
    opened = Opened(browser, reports["hostile"], 400)
    assert all(opened.marks().values())
    assert opened.fits()
    assert opened.complaints == []
    assert HOSTILE in opened.page.inner_text("h1")
    assert opened.page.locator("img").count() == 0
    assert "broken" not in opened.page.title().split("·")
    assert (opened.page.locator('button[data-toggle="cpu"]').first.text_content() or "").strip() == HOSTILE
    opened.page.close()


def test_injected_handler_would_not_run(valid_page: Opened) -> None:
    """The page's content security policy is a second barrier: injected markup could not run."""
    page = valid_page.page
    title, complaints = page.title(), len(valid_page.complaints)
    page.evaluate(
        """() => {
            document.body.insertAdjacentHTML('beforeend', `<a id="bad" onclick="document.title='broken'">x</a>`);
            document.getElementById('bad').click();
            document.getElementById('bad').remove();
        }"""
    )
    assert page.title() == title
    del valid_page.complaints[complaints:]  # the policy's own about the handler


def test_figures_follow_the_dark_setting(valid_page: Opened) -> None:
    page = valid_page.page
    line = "document.querySelector('#figure-cpu .trace path.js-line')"
    light = page.evaluate(f"() => getComputedStyle({line}).stroke")
    for scheme, comparison in (("dark", "!=="), ("light", "===")):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"light => getComputedStyle({line}).stroke {comparison} light", arg=light)
    assert valid_page.complaints == []


def test_page_without_scripts_shows_a_notice(browser: Browser, reports: dict[str, str]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["valid"])
    assert "scripts are switched off" in page.inner_text("#rates")
    context.close()
