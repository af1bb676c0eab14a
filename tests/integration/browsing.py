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
            plot => [plot.id, plot.querySelectorAll('.trace path').length]))"""
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

    def fits(self) -> bool:
        """Whether nothing overflows horizontally."""
        inner, needed = self.page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]")
        return bool(needed <= inner)
