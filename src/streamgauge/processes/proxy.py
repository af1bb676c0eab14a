"""A TCP proxy on loopback that can cut connections: ``python -m streamgauge.processes.proxy LISTEN_PORT TARGET_PORT``.

Commands are JSON lines on standard input; each is answered by an event on standard output:

``{"do": "hold", "cut": 1, "ports": [40001]}``: nothing passes any more, in either direction, on connections from these
client ports. Nothing is closed, and what the peers send waits: in the buffers of the kernel, then at the sender.
Answered by ``held-1`` with the number of such connections. To be repeated while the cut lasts: a new connection is held
until two lists of ports have been received that do not contain it, since only they show whose connection it is.
``{"do": "release", "cut": 1}``: what has waited goes on. Answered by ``released-1``.

The end of standard input ends the proxy.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection
from typing import cast

from streamgauge.protocol import emit

LOOPBACK = "127.0.0.1"

_LISTS_AWAITED = 2
"""A list may have been made just before the connection, and received just after it."""


class Side(asyncio.Protocol):
    """One of the two ends of a connection through the proxy."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.transport: asyncio.Transport | None = None
        self.is_full = False
        """Whether its peer takes less than the other side sends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.pause_reading()
        self.link.made(self)

    def data_received(self, data: bytes) -> None:
        self.link.other(self).write(data)

    def pause_writing(self) -> None:
        self.is_full = True
        self.link.adjust()

    def resume_writing(self) -> None:
        self.is_full = False
        self.link.adjust()

    def connection_lost(self, exc: Exception | None) -> None:
        self.link.lost(self)

    def write(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)


class Link:
    """A client's connection and ours to the target, which is opened once nothing holds the client's."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.client, self._target = Side(self), Side(self)
        self._opening: asyncio.Task[None] | None = None
        self.client_port = 0
        self.awaited_lists: dict[int, int] = {}
        """By cut: how many lists of ports are still to come until this connection is known not to be its."""

    @property
    def is_held(self) -> bool:
        return bool(self.awaited_lists) or self._proxy.is_cut(self.client_port)

    def other(self, side: Side) -> Side:
        return self._target if side is self.client else self.client

    def made(self, side: Side) -> None:
        if side is self.client:
            assert side.transport is not None
            self.client_port = side.transport.get_extra_info("peername")[1]
            self._proxy.register(self)
        self.adjust()

    def lost(self, side: Side) -> None:
        other = self.other(side)
        if other.transport is not None:
            other.transport.close()
        if side is self.client:
            self._proxy.forget(self)

    def adjust(self) -> None:
        """Read from each side only if the link is not held and the other side takes it."""
        is_held = self.is_held
        if self._target.transport is None:
            if not is_held and self._opening is None:
                self._opening = asyncio.ensure_future(self._open())
            return
        for side in (self.client, self._target):
            assert side.transport is not None
            if is_held or self.other(side).is_full:
                side.transport.pause_reading()
            else:
                side.transport.resume_reading()

    async def _open(self) -> None:
        assert self.client.transport is not None
        try:
            await asyncio.get_running_loop().create_connection(lambda: self._target, LOOPBACK, self._proxy.target_port)
        except OSError:
            # The server does not run at the moment: its clients would be refused, too.
            self.client.transport.abort()
            return
        if self.client.transport.is_closing() and self._target.transport is not None:
            self._target.transport.close()


class Proxy:
    """Forwards connections to ``target_port``, except those that a cut holds."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self._links: set[Link] = set()
        self._cuts: dict[int, frozenset[int]] = {}

    async def listen(self, port: int) -> asyncio.Server:
        """Raises OSError if the port is taken."""
        return await asyncio.get_running_loop().create_server(lambda: Link(self).client, LOOPBACK, port)

    def is_cut(self, client_port: int) -> bool:
        return any(client_port in ports for ports in self._cuts.values())

    def register(self, link: Link) -> None:
        link.awaited_lists = dict.fromkeys(self._cuts, _LISTS_AWAITED)
        self._links.add(link)

    def forget(self, link: Link) -> None:
        self._links.discard(link)

    def hold(self, cut: int, ports: Collection[int]) -> int:
        """Hold the connections of these client ports; returns how many there are."""
        self._cuts[cut] = frozenset(ports)
        for link in self._links:
            if cut in link.awaited_lists:
                link.awaited_lists[cut] -= 1
                if not link.awaited_lists[cut]:
                    del link.awaited_lists[cut]
            link.adjust()
        return sum(link.client_port in self._cuts[cut] for link in self._links)

    def release(self, cut: int) -> None:
        self._cuts.pop(cut, None)
        for link in self._links:
            link.awaited_lists.pop(cut, None)
            link.adjust()


async def serve(listen_port: int, target_port: int) -> None:
    proxy, lines = Proxy(target_port), asyncio.StreamReader()
    server = await proxy.listen(listen_port)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    emit("ready")
    while line := await lines.readline():
        command = json.loads(line)
        cut = int(command["cut"])
        if command["do"] == "hold":
            emit(f"held-{cut}", connections=proxy.hold(cut, command["ports"]))
        else:
            proxy.release(cut)
            emit(f"released-{cut}")
    server.close()


if __name__ == "__main__":
    try:
        asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
    except OSError as problem:
        sys.exit(f"proxy: {problem}")
