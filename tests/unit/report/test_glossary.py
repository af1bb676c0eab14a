"""Every term has one definition: in the docs, and at the foot of each page that uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from synthetic_study import write_study
from test_report_capacity import capacity
from test_report_comparison import comparison

from streamgauge import report
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report import glossary, history
from streamgauge.report.capacity import render as render_capacity
from streamgauge.report.comparison import render as render_comparison
from streamgauge.rundir import RunDir
from streamgauge.studies.stage_latency import STUDY

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "glossary.md"


@pytest.fixture(params=["run", "failed", "capacity", "history", "comparison", "study"])
def page(request: pytest.FixtureRequest, valid: RunDir, failed: RunDir, tmp_path: Path) -> str:
    if request.param in ("run", "failed"):
        return report.write(valid if request.param == "run" else failed).read_text(encoding="utf-8")
    if request.param == "capacity":
        return render_capacity(capacity())
    if request.param == "comparison":
        return render_comparison(comparison())
    if request.param == "history":
        return history.render(*history.find(valid.path.parent))
    out = write_study(tmp_path / "study", "stage-latency", STUDY)
    return report.write_study(out, STUDY).read_text(encoding="utf-8")


def test_the_docs_have_the_same_glossary() -> None:
    assert DOCS.read_text(encoding="utf-8") == glossary.as_markdown(), "run `make docs`"


def test_every_kind_of_latency_is_defined() -> None:
    assert set(LATENCY_NAMES.values()) <= set(glossary.TERMS)


def test_each_term_of_a_page_leads_to_its_definition_and_no_other_is_defined(page: str) -> None:
    linked = set(re.findall(r'<a class="term" href="#([^"]+)">', page))
    defined = re.findall(r'<div id="(term-[^"]+)"><dt>', page)
    assert linked and linked == set(defined) and len(defined) == len(linked)
    assert '<li><a href="#glossary">Glossary</a></li>' in page


def test_the_first_use_in_each_section_is_linked() -> None:
    linked, used = glossary.link_terms(
        '<section id="a"><p>Backlogs, the backlog</p></section>'
        '<section id="b"><p>no backlog-like, a backlog</p></section>'
    )
    assert used == ["backlog"]
    link = '<a class="term" href="#term-backlog">'
    assert f"<p>{link}Backlogs</a>, the backlog</p>" in linked
    assert f"<p>no backlog-like, a {link}backlog</a></p>" in linked


def test_text_that_is_not_prose_is_left_alone() -> None:
    for markup in (
        "<pre>the backlog</pre>",
        '<a href="x">the backlog</a>',
        "<code>backlog</code>",
        "<table data-plain><tr><td><table><tr><td>a</td></tr></table>the backlog</td></tr></table>",
        '<p title="backlog">Invalid and valid</p>',
    ):
        assert glossary.link_terms(markup) == (markup, [])
