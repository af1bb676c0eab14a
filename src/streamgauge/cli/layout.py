"""Lines that fit the terminal, and JSON that any encoding of it can carry."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import Any

import typer

WIDTH_MIN = 60
"""A narrower terminal breaks lines by itself."""


def wrapped(head: str, text: str, below: int | None = None) -> str:
    """The head and the text beside it; what does not fit goes on under the text, or ``below`` columns further in
    than the head begins. No word is broken, so that what is to be copied stays whole.
    """
    begins = len(head) - len(head.lstrip())
    return textwrap.fill(
        head.lstrip() + text,
        max(shutil.get_terminal_size((120, 24)).columns, WIDTH_MIN),
        initial_indent=" " * begins,
        subsequent_indent=" " * (len(head) if below is None else begins + below),
        break_long_words=False,
        break_on_hyphens=False,
    )


def shortened(head: str, text: str, tail: str = "") -> str:
    """All of it on one line of the terminal; the text is cut off where it does not fit."""
    width = max(shutil.get_terminal_size((120, 24)).columns, WIDTH_MIN)
    room = max(width - len(head) - len(tail), 12)
    return head + textwrap.shorten(text, room, placeholder=" …") + tail


def echo_json(content: Any) -> None:
    """Print it on standard output; where that is not UTF-8, in ASCII alone."""
    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-") not in ("utf-8", "utf8")
    typer.echo(json.dumps(content, indent=1, ensure_ascii=plain))
