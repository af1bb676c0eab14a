"""Every relative link in the documentation leads to a file, and every anchor to a heading."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("docs", "examples")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
HTML = re.compile(r"(?:href|src)=\"([^\"]+)\"")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))


def links(text: str) -> list[str]:
    """Targets of links and images that are not addresses of another site."""
    plain = without_code(text)
    # A link's own text may be code, which is gone by now: `[`x`](y)` has become `[](y)`.
    targets = [*LINK.findall(plain), *REFERENCE.findall(plain), *HTML.findall(plain)]
    return [target for target in targets if not re.match(r"[a-z][a-z+.-]*:", target)]


def anchors(text: str) -> set[str]:
    """As GitHub makes them from headings: lower case, no punctuation, hyphens for spaces, numbered when repeated."""
    made: list[str] = re.findall(r"<a id=\"([^\"]+)\"", text)
    for heading in re.findall(r"^#{1,6} +(.+?)\s*#*$", FENCED.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        repeated = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in made)
        made.append(f"{name}-{repeated}" if name in made else name)
    return set(made)


def problem(page: Path, target: str) -> str | None:
    """What is wrong with a link of a page; None when it is right."""
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return f"{target}: no such file"
    if not file.is_relative_to(ROOT):
        return f"{target}: outside the repository"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text(encoding="utf-8"))):
        return f"{target}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    found = links(page.read_text(encoding="utf-8"))
    assert [text for target in found if (text := problem(page, target))] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for target in links(page.read_text(encoding="utf-8")):
            file = (page.parent / unquote(target).partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists() and file not in reached:
                waiting.append(file)
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert pages - reached == set()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[a](b.md#c)", "b.md#c"),
        ("![a](b.png)", "b.png"),
        ("[`a`](b.md)", "b.md"),
        ("[a]: b.md", "b.md"),
        ('<img src="b.png">', "b.png"),
    ],
)
def test_what_is_a_link(text: str, target: str) -> None:
    assert links(text) == [target]


@pytest.mark.parametrize("text", ["`[a](b.md)`", "```\n[a](b.md)\n```", "[a](https://example.org/b.md)"])
def test_what_is_none(text: str) -> None:
    assert links(text) == []


def test_wrong_links_are_noticed(tmp_path: Path) -> None:
    page = ROOT / "README.md"
    assert problem(page, "docs/no-such.md") == "docs/no-such.md: no such file"
    assert problem(page, "docs/README.md#no-such") == "docs/README.md#no-such: no such heading"
    assert problem(page, "docs/README.md#documentation") is None


def test_anchors() -> None:
    text = "# A `b`, c!\n\n## Twice\n\n## Twice\n\n```\n# not one\n```\n"
    assert anchors(text) == {"a-b-c", "twice", "twice-1"}
