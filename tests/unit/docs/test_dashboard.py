"""The Grafana dashboard and the page about live metrics name the metrics that there are, and all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from streamgauge.measure.metrics_server import METRICS

DOCS = Path(__file__).parents[3] / "docs"
DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
NAME = re.compile(r"streamgauge_[a-z_]+")
SELECTOR = re.compile(r"(streamgauge_[a-z_]+)\{([^}]*)\}")
KNOWN = {metric.name: metric for metric in METRICS}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_panels_show_all_metrics_and_no_others() -> None:
    assert {name for expression in expressions() for name in NAME.findall(expression)} == KNOWN.keys()


def test_every_expression_selects_the_run_by_labels_that_exist() -> None:
    for expression in expressions():
        ((name, selector),) = SELECTOR.findall(expression)
        assert 'run=~"$run"' in selector
        assert set(re.findall(r"(\w+)[=!]", selector)) <= set(KNOWN[name].labels)
        assert ("rate(" in expression) is name.endswith("_total"), "a counter is shown by its rate"


def test_legends_use_labels_that_exist() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            ((name, _),) = SELECTOR.findall(target["expr"])
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= set(KNOWN[name].labels)


def test_variables_are_those_that_are_used() -> None:
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables.keys() == {"datasource", "run"}
    ((metric, label),) = re.findall(r"label_values\((\w+), (\w+)\)", variables["run"]["query"]["query"])
    assert label in KNOWN[metric].labels
    used = {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]}
    used |= {target["datasource"]["uid"] for panel in DASHBOARD["panels"] for target in panel["targets"]}
    assert used == {"${datasource}"}


def test_panels_have_titles_and_do_not_overlap() -> None:
    places: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["title"]
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & places and all(x < 24 for x, _ in cells)
        places |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_page_describes_every_metric_with_its_labels() -> None:
    page = (DOCS / "howto" / "live-metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(streamgauge_\w+)` \| ([^|]*) \|", page, re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == {
        metric.name: metric.labels for metric in METRICS
    }
    assert set(NAME.findall(page)) <= KNOWN.keys()
