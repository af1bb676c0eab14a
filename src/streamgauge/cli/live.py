"""The live view of a run, on standard error: a panel on a terminal, else one line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from streamgauge import environment
from streamgauge.cli import terminal
from streamgauge.measure.reporter import Tick
from streamgauge.measure.snapshot import Publish, Snapshot, publish_nowhere

LINE_EVERY_S = 5.0
AFTER_LOAD = ("draining", "processing")
"""Phases whose length depends on the engine."""


class LiveView:
    """Shows the phase, and once a second what goes in, what comes out and how the generator does.

    With ``--quiet`` only what should stay in sight; with ``--verbose`` a line every second, on a terminal too.
    ``publish`` gets each snapshot of a run.
    """

    def __init__(self, publish: Publish = publish_nowhere) -> None:
        self._publish = publish
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._phase = ""
        self._started = time.monotonic()
        self._last_line = float("-inf")
        self._ticks: list[Tick] = []
        """Since the last line."""

    def __enter__(self) -> Self:
        if self._console.is_terminal and not terminal.detail.quiet and not terminal.detail.verbose:
            # Redrawn only when there is something new: the view must not cost what it watches.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        if names := environment.removed():
            self.warn(f"not passed on to the processes that are started: {', '.join(names)}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def phase(self, text: str) -> None:
        if text == self._phase:
            return
        self._phase = text
        if self._live is not None:
            self._live.update(f"[bold]{escape(text)}[/] …", refresh=True)
        self._print(text)

    def tick(self, tick: Tick) -> None:
        self._phase = tick.phase
        if self._live is not None:
            self._live.update(_panel(tick), refresh=True)
            return
        self._ticks.append(tick)
        if time.monotonic() - self._last_line >= (0.0 if terminal.detail.verbose else LINE_EVERY_S):
            self._last_line = time.monotonic()
            self._print(_line(_mean_rates(self._ticks)))
            self._ticks.clear()

    def snapshot(self, snapshot: Snapshot) -> None:
        self._publish(snapshot)

    def warn(self, text: str) -> None:
        self.say(f"warning: {text}")

    def say(self, text: str) -> None:
        """Stays on the screen."""
        self._console.print(text, markup=False, soft_wrap=True)

    def _print(self, text: str) -> None:
        elapsed_s = time.monotonic() - self._started
        if self._live is None and not terminal.detail.quiet:
            self._console.print(f"{elapsed_s:6.1f} s  {text}", markup=False, soft_wrap=True)


def _lag(tick: Tick) -> str:
    return "not known" if tick.lag is None else f"{tick.lag:,}"


def _generator(tick: Tick) -> str:
    health = f"{tick.late_max_ms:.1f} ms late at most"
    return f"{health}, {tick.errors:,} errors" if tick.errors else health


def _mean_rates(ticks: Sequence[Tick]) -> Tick:
    """The last one, with the mean rates of all: those of a single second jump where an engine works in batches."""
    sent_per_s, output_per_s = fmean(tick.sent_per_s for tick in ticks), fmean(tick.output_per_s for tick in ticks)
    return replace(ticks[-1], sent_per_s=sent_per_s, output_per_s=output_per_s)


def _line(tick: Tick) -> str:
    if tick.phase in AFTER_LOAD:
        waits = "; all input is consumed, waiting for late results" if tick.lag == 0 and not tick.output_per_s else ""
        return f"{tick.phase}: output {tick.output_per_s:,.0f}/s, lag {_lag(tick)}{waits}"
    if not tick.planned_s:
        return f"{tick.phase}: sent {tick.sent_per_s:,.0f}/s, generator {_generator(tick)}"
    return (
        f"{tick.elapsed_s:.0f} of {tick.planned_s:.0f} s ({tick.phase}): offered {tick.offered_per_s:,.0f}/s, "
        f"sent {tick.sent_per_s:,.0f}/s, output {tick.output_per_s:,.0f}/s, lag {_lag(tick)}, "
        f"generator {_generator(tick)}"
    )


def _panel(tick: Tick) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("[bold]phase", tick.phase + _bar(tick))
    if tick.phase not in AFTER_LOAD:
        if tick.planned_s:
            table.add_row("offered", f"{tick.offered_per_s:,.0f}/s")
        table.add_row("sent", f"{tick.sent_per_s:,.0f}/s")
    table.add_row("output", f"{tick.output_per_s:,.0f}/s")
    table.add_row("lag", _lag(tick))
    table.add_row("generator", ("[red]" if tick.errors or tick.late_max_ms > 200 else "") + _generator(tick))
    return table


def _bar(tick: Tick) -> str:
    """How much of the load is over; nothing where its end is not known."""
    if tick.phase in AFTER_LOAD or not tick.planned_s:
        return ""
    done = round(30 * min(tick.elapsed_s / tick.planned_s, 1.0))
    return f"  [cyan]{'━' * done}[/][dim]{'━' * (30 - done)}[/] {tick.elapsed_s:.0f}/{tick.planned_s:.0f} s"
