"""The report in a real browser: it draws, asks nothing of a network, fits a phone, and follows the dark setting."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from streamgauge import report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SYNTHETIC = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "report" / "synthetic_run.py"))
HOSTILE = "</script><b>&</b><img src=x onerror=\"document.title='broken'\">"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of the report of each kind of run."""
    found = {}
    for kind in ("valid", "invalid", "failed", "bursts"):
        run = SYNTHETIC[f"write_{kind}"](tmp_path_factory.mktemp("runs") / kind)
        found[kind] = report.write(run).as_uri()
    hostile = SYNTHETIC["write_valid"](tmp_path_factory.mktemp("runs") / "hostile")
    hostile.write_manifest(
        {**SYNTHETIC["manifest"](), "engine": {"title": HOSTILE, "version": HOSTILE}, HOSTILE: HOSTILE}
    )
    samples = [{**sample, "role": HOSTILE} for sample in hostile.samples("resources")]
    (hostile.path / "samples" / "resources.jsonl").unlink()
    hostile.append_samples("resources", samples)
    found["hostile"] = report.write(hostile).as_uri()
    return found


class Opened:
    """A page with everything it complained about and asked for."""

    def __init__(self, browser: Browser, address: str, width: int, dark: bool = False) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        scheme = "dark" if dark else "light"
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.page.on("request", self._note)
        self.page.goto(address)

    def _note(self, request: Request) -> None:
        if not request.url.startswith("data:"):
            self.requests.append(request.url)

    def marks(self) -> dict[str, int]:
        """How many drawn lines or points each figure has."""
        script = """() => Object.fromEntries([...document.querySelectorAll('.plot')].map(
            plot => [plot.id, plot.querySelectorAll('.trace path').length]))"""
        found: dict[str, int] = self.page.evaluate(script)
        return found


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(
    ("kind", "figures"), [("valid", 12), ("invalid", 12), ("failed", 6), ("hostile", 12), ("bursts", 14)]
)
def test_report_draws_and_fits(browser: Browser, reports: dict[str, str], kind: str, figures: int, width: int) -> None:
    opened = Opened(browser, reports[kind], width)
    marks = opened.marks()
    assert len(marks) == figures
    assert all(marks.values()), marks
    assert opened.complaints == []
    assert opened.requests == [reports[kind]]
    inner, needed = opened.page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]")
    assert needed <= inner == width
    opened.page.close()


def test_hostile_strings_are_shown_and_not_run(browser: Browser, reports: dict[str, str]) -> None:
    opened = Opened(browser, reports["hostile"], 1280)
    assert HOSTILE in opened.page.inner_text("h1")
    assert opened.page.locator("img").count() == 0
    assert "broken" not in opened.page.title().split("·")
    assert opened.page.locator("#figure-cpu .legendtext").first.text_content() == HOSTILE
    opened.page.close()


def test_injected_handler_would_not_run(browser: Browser, reports: dict[str, str]) -> None:
    """The page's policy is a second wall: markup that got in all the same could not act."""
    opened = Opened(browser, reports["valid"], 1280)
    title = opened.page.title()
    opened.page.evaluate(
        """() => {
            document.body.insertAdjacentHTML('beforeend', `<a id="bad" onclick="document.title='broken'">x</a>`);
            document.getElementById('bad').click();
        }"""
    )
    assert opened.page.title() == title
    opened.page.close()


def test_figures_follow_the_dark_setting(browser: Browser, reports: dict[str, str]) -> None:
    opened = Opened(browser, reports["valid"], 1280)
    line = opened.page.locator("#figure-cpu .trace path.js-line").first
    light = line.evaluate("path => getComputedStyle(path).stroke")
    opened.page.emulate_media(color_scheme="dark")
    opened.page.wait_for_function(
        "light => getComputedStyle(document.querySelector('#figure-cpu .trace path.js-line')).stroke !== light",
        arg=light,
    )
    assert opened.complaints == []
    opened.page.close()


def test_page_without_scripts_says_so(browser: Browser, reports: dict[str, str]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["valid"])
    assert "scripts are switched off" in page.inner_text("#rates")
    context.close()
