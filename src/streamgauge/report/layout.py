"""The one component that builds every page: head, verdict, contents, sections, glossary, footer, style, script.

A page is a template that fills the blocks of ``layout.html.j2`` and draws with the macros of ``parts.html.j2``. It is
one HTML file that opens without a network and runs no script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.report import glossary, text
from streamgauge.report.draw import Figure
from streamgauge.report.legend import entries

if TYPE_CHECKING:
    from jinja2 import Environment

CONTENTS, GLOSSARY = "<!--contents-->", "<!--glossary-->"
"""Places in the template for what follows from the rest of the page."""


@dataclass(frozen=True)
class Head:
    """What every page begins with."""

    kind: str
    """Of page, for example "report"."""
    title: str
    """Of the browser's window."""
    heading: str
    word: str = ""
    """The verdict; empty for a page that has none."""
    meaning: str = ""
    style: str = "valid"
    """How the verdict looks: valid, invalid or failed."""
    footer: str = ""
    strip: str = ""
    """A line that stays in sight, for what must not be used."""

    @property
    def mark(self) -> str:
        return {"valid": "✓", "failed": "✕", "invalid": "!"}[self.style]


def build(template: str, head: Head, figures: Mapping[str, Figure], **context: Any) -> str:
    """The whole page. The same values give the same bytes."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    scripts = {"plotly_js": get_plotlyjs() if figures else "", "draw_js": packaged("page.js")}
    page = (
        _environment()
        .get_template(template)
        .render(
            head=head,
            css=Markup(packaged("page.css")),  # noqa: S704  the package's own file
            **{name: Markup(f"<!--{name}-->") for name in scripts},  # noqa: S704  a constant
            script_hashes=[csp_hash(script) for script in scripts.values()],
            figures=figures,
            figures_json=Markup(as_script_data(figures)),  # noqa: S704  escaped there
            **context,
        )
    )
    page = _with_glossary(page)
    for name, script in scripts.items():
        page = page.replace(f"<!--{name}-->", script)
    return page


def write_whole(target: Path, page: str) -> Path:
    """Write the page whole or not at all, and return its path."""
    part = target.with_name(target.name + ".part")
    part.write_text(page, encoding="utf-8")
    part.replace(target)
    return target


def _with_glossary(page: str) -> str:
    """With each term linked to its definition below, and the contents of all sections."""
    body, rest = page.split(GLOSSARY)
    body, used = glossary.link_terms(body)
    contents = re.findall(r'<section id="([^"]+)" data-name="([^"]*)">', body)
    if used:
        contents.append(("glossary", "Glossary"))
    items = "\n".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in contents)
    return body.replace(CONTENTS, items) + glossary.as_section(used) + rest


@cache
def _environment() -> Environment:
    """Compiled once: a campaign writes many pages."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(packaged),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,  # a run that died early lacks what others have
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=text.number,
        plain=text.plain,
        argv=text.argv,
        rounded=text.rounded,
        scaled=text.scaled,
        legend=entries,
    )
    environment.tests["records"] = _is_records
    environment.tests["lines"] = lambda cell: isinstance(cell, list | tuple)
    return environment


def as_script_data(content: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever strings it holds."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def packaged(name: str) -> str:
    return resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _is_records(value: Any) -> bool:
    """A list of objects, to be shown as one table."""
    return isinstance(value, Sequence) and bool(value) and all(isinstance(item, Mapping) for item in value)
