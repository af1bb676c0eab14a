"""What the roles of a run have received and sent over TCP."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.processes import sockets
from streamgauge.processes.sockets import Connection

_BYTES_PER_MB = 1_000_000


@dataclass
class Carried:
    """Bytes of a role so far. They never fall: what a connection had at the last look is kept when it is closed."""

    received: int = 0
    sent: int = 0
    from_transport: int = 0

    def figures(self, *, transport_known: bool) -> dict[str, float | None]:
        """The fields of a sample."""
        return {
            "received_mb": round(self.received / _BYTES_PER_MB, 3),
            "sent_mb": round(self.sent / _BYTES_PER_MB, 3),
            "from_transport_mb": round(self.from_transport / _BYTES_PER_MB, 3) if transport_known else None,
        }


UNKNOWN: Mapping[str, None] = {"received_mb": None, "sent_mb": None, "from_transport_mb": None}


class Network:
    """Follows the connections of the processes of a run.

    Looking up which process has a connection open is what costs: it is done for new connections only.
    """

    def __init__(self) -> None:
        self.transport_ports: frozenset[int] = frozenset()
        """Where clients reach the transport; empty where that is not known."""
        self.from_transport: Mapping[str, int] = {}
        """Bytes that each role had received from the transport at the last look; empty where that is not known."""
        self._carried: dict[str, Carried] = {}
        self._roles: dict[int, str] = {}
        self._seen: dict[int, Carried] = {}
        """What each connection that is still there had at the last look."""
        self._strangers: set[int] = set()

    def look(self) -> Sequence[Connection] | None:
        """All connections of now; None where the system does not report them.

        To be called before the processes are looked up, so that whoever has one of these open is among them.
        """
        try:
            return sockets.connections()
        except OSError:
            return None

    def sample(
        self, connections: Sequence[Connection] | None, processes: Mapping[str, Collection[int]]
    ) -> Mapping[str, Mapping[str, float | None]]:
        """The fields of each role's sample. ``processes`` are the process ids of each role."""
        if connections is None:
            return dict.fromkeys(processes, UNKNOWN)
        present = {one.cookie for one in connections}
        self._strangers &= present
        for cookie in self._seen.keys() - present:
            del self._seen[cookie], self._roles[cookie]
        self._find_owners(connections, processes)
        owners = {(one.local_port, one.remote_port): self._roles.get(one.cookie) for one in connections}
        for one in connections:
            role = self._roles.get(one.cookie)
            # What a role's processes pass to each other, such as an executor's JVM to its Python workers, is internal.
            if role and owners.get((one.remote_port, one.local_port)) != role:
                self._add(role, one)
        known = bool(self.transport_ports)
        figures = {role: self._carried.setdefault(role, Carried()).figures(transport_known=known) for role in processes}
        # In one step: another thread may read it.
        self.from_transport = {role: one.from_transport for role, one in self._carried.items()} if known else {}
        return figures

    def _find_owners(self, connections: Sequence[Connection], processes: Mapping[str, Collection[int]]) -> None:
        # One without an inode has not been accepted yet: it will have one at a later look.
        new = {
            one.inode: one.cookie
            for one in connections
            if one.inode and one.cookie not in self._roles and one.cookie not in self._strangers
        }
        if not new:
            return
        for role, pids in processes.items():
            for pid in pids:
                for inode in sockets.inodes(pid) & new.keys():
                    self._roles[new.pop(inode)] = role
        self._strangers.update(new.values())

    def _add(self, role: str, one: Connection) -> None:
        sum_, last = self._carried.setdefault(role, Carried()), self._seen.setdefault(one.cookie, Carried())
        sum_.received += one.received - last.received
        sum_.sent += one.sent - last.sent
        last.received, last.sent = one.received, one.sent
        # On a connection that has sent more, the received bytes are answers to what was written.
        if one.remote_port in self.transport_ports and one.received > one.sent:
            sum_.from_transport += one.received - last.from_transport
            last.from_transport = one.received
