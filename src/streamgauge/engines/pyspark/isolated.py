"""Runs a command in a network of its own (Linux): ``python -I -S isolated.py CONTROL_FD PORT -- COMMAND``.

Nothing outside can be reached from there, by no library and no child. One port of its loopback is served by the
launcher, which gets the listening socket over ``CONTROL_FD``: a socket stays in the network in which it was opened.
Only the standard library is used, so that it starts at once and without the shim.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
BACKLOG = 128


def leave_network() -> None:
    """Raises OSError where the system does not permit it."""
    user, group = os.getuid(), os.getgid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    # The same user as before: Hadoop's libraries ask for its name.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        loopback = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, loopback))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def main(control_fd: int, port: int, command: list[str]) -> None:
    with socket.socket(fileno=control_fd) as control:
        try:
            leave_network()
            with socket.create_server(("127.0.0.1", port), backlog=BACKLOG) as server:
                socket.send_fds(control, [b"isolated"], [server.fileno()])
        except (OSError, AttributeError) as problem:
            control.sendall(f"not permitted: {problem}".encode())
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  the command that the user asked for


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:])
