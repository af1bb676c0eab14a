"""How a load worker sends its share: what it does while others send theirs."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.contracts import Records, Sender
from streamgauge.load.buffer import RecordBuffer, block_size
from streamgauge.load.ledger import Ledger
from streamgauge.load.pacer import Pacer
from streamgauge.load.share import Share
from streamgauge.load.worker import send_share
from streamgauge.model import NS_PER_S, LoadPlan

PLAN = LoadPlan(rate_per_s=20, warmup_s=0.0, measured_s=600.0, tail_s=0.0)
"""One worker of eight sends a block of 100 records, then has nothing to send for 35 s."""
PROMPTLY_S = 10.0


class Swallows:
    """Everything is settled at once."""

    def connect(self, timeout_s: float) -> None:
        pass

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        settled(0)

    def poll(self, timeout_s: float = 0.0) -> None:
        time.sleep(timeout_s)

    def finish(self, timeout_s: float) -> None:
        pass

    def serve(self, stop: threading.Event) -> None:
        pass


@pytest.mark.parametrize("told_by", ["stop", "end"])
def test_a_worker_whose_turn_is_far_away_obeys_at_once(told_by: str, tmp_path: Path) -> None:
    share = Share(PLAN, 7, 8, block_size(PLAN.busiest_per_s))
    dataset = registry.dataset("traffic/ingest", {"keys": "dataset"}, 1, PLAN)
    start_ns, stop, commands = time.time_ns(), threading.Event(), queue.SimpleQueue[bytes]()
    ledger = Ledger(tmp_path / "ledger.parquet", time.time_ns, 0)
    sender: Sender = Swallows()
    pacer = Pacer(share, start_ns, time.time_ns)
    assert pacer.due_ns(0) - start_ns > 30 * NS_PER_S

    def tell() -> None:
        if told_by == "stop":
            stop.set()
        else:
            commands.put(b'{"do":"end","at_ns":%d}' % time.time_ns())

    threading.Timer(0.2, tell).start()
    sending = threading.Thread(
        target=send_share,
        args=(share, pacer, RecordBuffer(dataset, share), sender, ledger, time.time_ns, commands, stop),
        daemon=True,
    )
    sending.start()
    sending.join(PROMPTLY_S)
    assert not sending.is_alive()
    assert pacer.taken_records == 0
    ledger.close()
