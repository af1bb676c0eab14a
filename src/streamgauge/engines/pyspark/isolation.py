"""The launcher's side of a script in a network of its own (isolated.py): starts it, and serves the broker's port."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamgauge.engines.pyspark import isolated

_ANSWER_S = 10.0
_CHUNK_BYTES = 1 << 18


def start(command: Sequence[str], address: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """The command in a network where only the server at this address of this machine's loopback can be reached.

    None where the system does not permit it.
    """
    port = int(address.rpartition(":")[2])
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            words = [sys.executable, "-I", "-S", str(Path(isolated.__file__)), str(theirs.fileno()), str(port), "--"]
            process = subprocess.Popen(
                [*words, *command],
                pass_fds=[theirs.fileno()],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        ours.settimeout(_ANSWER_S)
        try:
            answer, descriptors, _, _ = socket.recv_fds(ours, 1024, 1)
        except OSError:
            answer, descriptors = b"no answer", []
    if not descriptors:
        process.kill()
        process.communicate()
        sys.stderr.write(f"the script shares the network of this machine: {answer.decode(errors='replace')}\n")
        return None
    server = socket.socket(fileno=descriptors[0])
    threading.Thread(target=_serve, args=(server, port), daemon=True).start()
    return process


def _serve(server: socket.socket, port: int) -> None:
    """Pass on every connection to the port of the same number on this machine."""
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        try:
            target = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S)
        except OSError:
            # The server does not run at the moment: its clients would be refused, too.
            client.close()
            continue
        target.settimeout(None)
        threading.Thread(target=_link, args=(client, target), daemon=True).start()


def _link(client: socket.socket, target: socket.socket) -> None:
    with client, target:
        back = threading.Thread(target=_pass_on, args=(target, client), daemon=True)
        back.start()
        _pass_on(client, target)
        back.join()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Until the one side has no more to send; after an error, both directions end."""
    other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ends = [(other, socket.SHUT_WR)]
    try:
        while chunk := one.recv(_CHUNK_BYTES):
            other.sendall(chunk)
    except OSError:
        ends = [(one, socket.SHUT_RDWR), (other, socket.SHUT_RDWR)]
    for side, how in ends:
        with contextlib.suppress(OSError):
            side.shutdown(how)
