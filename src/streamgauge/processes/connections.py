"""The TCP connections of processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil

from streamgauge.processes.proctable import Identity


def ports_to(remote_port: int, processes: Iterable[Identity]) -> set[int]:
    """The local ports of these processes' connections to a port of this machine."""
    ports = set()
    for process in processes:
        with contextlib.suppress(psutil.Error):
            connections = psutil.Process(process.pid).net_connections("tcp")
            ports |= {one.laddr.port for one in connections if one.raddr and one.raddr.port == remote_port}
    return ports
