"""Pages as a reader sees them."""

from __future__ import annotations

import re


def unlinked(page: str) -> str:
    """The page without the links to its glossary, which may lie round any word."""
    return re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", page)


def section(page: str, name: str) -> str:
    """The words of one section; empty where the page does not have it."""
    found = unlinked(page).partition(f'<section id="{name}" ')[2].partition("</section>")[0].partition(">")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", found).split())
