"""A user's seed file: one record per line, validated completely before any record is sent."""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from pathlib import Path

from streamgauge.errors import UsageError

FILE_BYTES_MAX = 64 * 2**20
"""Every load worker keeps all records of the file in memory."""
LINE_BYTES_MAX = 10_000

_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_CONTROL_NAMES = {0x00: "a NUL byte", 0x0D: "a carriage return (CR)"}
_BOM = b"\xef\xbb\xbf"
_SHOWN = 60


def read_records(path: str, separator: bytes, fields: Sequence[str]) -> list[bytes]:
    """The lines of the file, in order.

    Raises UsageError, naming file and line, for a file that cannot be read, is empty or larger than
    ``FILE_BYTES_MAX``, is not UTF-8, has control characters or lines longer than ``LINE_BYTES_MAX``, or has a line with
    another number of fields.
    """
    content = _content(Path(path))
    _check_text(path, content)
    lines = content.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_BYTES_MAX:
            raise UsageError(
                "the seed file has a line that is too long",
                where=place(path, number),
                got=f"{len(line):,} bytes",
                expected=f"at most {LINE_BYTES_MAX:,} bytes per record",
            )
        if line.count(separator) != len(fields) - 1:
            name = {b"\t": "tab", b" ": "space", b",": "comma"}[separator]
            raise UsageError(
                "the seed file has a line with the wrong number of fields",
                where=place(path, number),
                got=f"{line.count(separator) + 1}: {shown(line)}",
                expected=f"{len(fields)}, each separated by one {name}: {', '.join(fields)}",
            )
    return lines


def place(path: str, line: int) -> str:
    return f"{path}, line {line}"


def shown(text: bytes) -> str:
    """The text as quoted in a message."""
    decoded = text.decode()
    return repr(decoded if len(decoded) <= _SHOWN else decoded[:_SHOWN] + "…")


def _content(path: Path) -> bytes:
    expected = "a file with one record per line"
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            got = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise UsageError("the seed file cannot be read", where=path, got=got, expected=expected)
        if status.st_size > FILE_BYTES_MAX:
            raise UsageError(
                "the seed file is too large",
                where=path,
                got=f"{status.st_size:,} bytes",
                expected=f"at most {FILE_BYTES_MAX:,} bytes: all records are kept in memory and sent repeatedly",
                hint="keep its first lines, for example with head -n 100000",
            )
        content = path.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: a null byte in the name
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError("the seed file cannot be read", where=path, got=reason, expected=expected) from None
    if not content:
        raise UsageError("the seed file is empty", where=path, got="0 bytes", expected=expected)
    return content


def _check_text(path: str, content: bytes) -> None:
    if content.startswith(_BOM):
        raise UsageError(
            "the seed file begins with a byte order mark, which would become part of its first record",
            where=place(path, 1),
            got="EF BB BF",
            expected="UTF-8 text without it",
            hint="tail -c +4 FILE > FIXED",
        )
    control = _CONTROL.search(content)
    if control is not None:
        code = control[0][0]
        raise UsageError(
            "the seed file has a control character",
            where=place(path, _line(content, control.start())),
            got=f"{_CONTROL_NAMES.get(code, 'a byte')} (0x{code:02X})",
            expected="text without control characters other than tabs, whose lines end with LF",
            hint="tr -d '\\r' < FILE > FIXED" if code == ord("\r") else None,
        )
    try:
        content.decode()
    except UnicodeDecodeError as problem:
        raise UsageError(
            "the seed file is not UTF-8",
            where=place(path, _line(content, problem.start)),
            got=f"byte 0x{content[problem.start]:02X}: {problem.reason}",
            expected="UTF-8 text",
            hint="iconv -f LATIN1 -t UTF-8 FILE > FIXED",
        ) from None


def _line(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
