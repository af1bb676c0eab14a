"""The live view of a capacity search, and a line that stays for every probe that has ended."""

from __future__ import annotations

from streamgauge.cli.live import LiveView
from streamgauge.model.capacity import CapacityProbe

_ROW = "{value:>12}  {purpose:<8} {verdict:<14} {p50:>9} {p99:>9} {seconds:>8} {saved:>8}  {reason}"
_HEAD = _ROW.format(
    value="probe",
    purpose="purpose",
    verdict="verdict",
    p50="p50, ms",
    p99="p99, ms",
    seconds="seconds",
    saved="saved",
    reason="",
)


class SearchView(LiveView):
    """Use it for one search after another: the head of the table is printed once."""

    _headed = False

    def probe(self, row: CapacityProbe) -> None:
        if not self._headed:
            self._headed = True
            self._console.print(_HEAD, markup=False, soft_wrap=True, style="bold")
        self._console.print(probe_line(row), markup=False, soft_wrap=True)


def probe_line(row: CapacityProbe) -> str:
    return _ROW.format(
        value=f"{row.value:,}",
        purpose=row.purpose,
        verdict=row.verdict + (" (weak)" if row.weak else ""),
        p50=_ms(row.total_p50),
        p99=_ms(row.total_p99),
        seconds=f"{row.seconds:.0f}",
        saved=f"{row.seconds_saved:.0f}",
        reason=row.reason,
    ).rstrip()


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
