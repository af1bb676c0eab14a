"""Opens pages in the system's chromium."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import Browser, Page, Request

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
HOSTILE = "</script><b>&</b><img src=x onerror=\"document.title='broken'\">"

NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH"),
]
"""For the ``pytestmark`` of a module."""


class Opened:
    """A page with its console errors and network requests."""

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
        """The number of drawn lines or points in each figure."""
        script = """() => Object.fromEntries([...document.querySelectorAll('.plot')].map(
            plot => [plot.id, plot.querySelectorAll('.trace path, .hm image').length]))"""
        counts: dict[str, int] = self.page.evaluate(script)
        return counts

    def drawn(self) -> dict[str, list[str]]:
        """The names of the traces in each figure that have a drawn line or point."""
        script = """() => Object.fromEntries([...document.querySelectorAll('.plot')].map(plot => [
            plot.id,
            [...plot.querySelectorAll('.trace')]
                .filter(trace => trace.querySelector('path[d]') && trace.__data__)
                .map(trace => (trace.__data__[0].trace || trace.__data__.trace).name),
        ]))"""
        drawn_traces: dict[str, list[str]] = self.page.evaluate(script)
        return drawn_traces

    def misplaced(self) -> list[str]:
        """Texts of figures that lie over one another, outside their figure, or over what it draws.

        Numbers that belong to a bar or a point may stand on it.
        """
        script = """() => [...document.querySelectorAll('.plot')].flatMap(plot => {
            const frame = plot.getBoundingClientRect();
            const inner = plot.querySelector('.nsewdrag').getBoundingClientRect();
            const texts = [...plot.querySelectorAll('svg text')]
                .filter(text => text.textContent.trim() && !text.closest('.hoverlayer, .bartext, .textpoint'))
                .map(text => ({words: `${plot.id}: ${text.textContent}`, box: text.getBoundingClientRect()}))
                .filter(({box}) => box.width > 0);
            const over = (a, b) =>
                a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
            const outside = texts.filter(({box}) => box.left < frame.left - 1 || box.right > frame.right + 1
                || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
            const within = {left: inner.left + 2, right: inner.right - 2, top: inner.top + 2, bottom: inner.bottom - 2};
            const covering = texts.filter(({box}) => over(box, within));
            const pairs = texts.flatMap((a, i) => texts.slice(i + 1).filter(b => over(a.box, b.box)).map(b => [a, b]));
            return [
                ...outside.map(({words}) => `outside ${words}`),
                ...covering.map(({words}) => `over the drawing ${words}`),
                ...pairs.map(([a, b]) => `${a.words} over ${b.words}`),
            ];
        })"""
        problems: list[str] = self.page.evaluate(script)
        return problems

    def fits(self) -> bool:
        """Whether nothing overflows horizontally."""
        inner, needed = self.page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]")
        return bool(needed <= inner)
