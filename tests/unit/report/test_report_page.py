"""The report says what the run directory holds, and nothing in a run can break out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from run_files import change, content
from streamgauge import report
from streamgauge.cli.report import report as report_command
from streamgauge.errors import UsageError
from streamgauge.model.samples import ResourceSample
from streamgauge.report.layout import as_script_data
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<b>"
FIGURES = {
    *("rates", "latency-total", "heatmap", "distribution", "backlog", "lateness"),
    *("cpu", "rss", "heap", "gc", "machine", "clock"),
}


class Page(HTMLParser):
    """A page taken apart: its tags with their attributes, its visible words, its scripts."""

    def __init__(self, run: RunDir) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._words: list[str] = []
        self._inside = ""
        self.html = report.write(run).read_text(encoding="utf-8")
        self.feed(self.html)
        self.text = re.sub(r"\s+", " ", "".join(self._words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        self._words.append("" if ("class", "term") in attrs else " ")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self._words.append(data)

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self.scripts[0])
        return figures


def change_summary(run: RunDir, **changes: Any) -> None:
    change(run.summary_path, **changes)


def test_valid_run_leads_with_verdict_and_headlines(valid: RunDir) -> None:
    page = Page(valid)
    total = valid.summary().latency("total")
    for words in (
        "VALID",
        "state: steady",
        "sustained: yes",
        "Spark Structured Streaming 4.2.0",
        "ospbench/latency, stage ingest",
        "400 records/s offered for 30 s",
        "measured_s 30 instead of 1,500",
        "1 warning",
        f"p50 {total['p50']:.0f} ms",
        f"p99 {total['p99']:.0f} ms",
        "of 16,000 expected results",
        "399.9 records/s",
        "of 400 offered: 99.98 %",
        "between −0.40 and 0.70 ms",
    ):
        assert words in page.text, words
    assert "do not use" not in page.text.lower()
    assert page.text.index("state: steady") < page.text.index("Results")


def test_valid_run_has_every_figure_with_units_and_no_gap(valid: RunDir) -> None:
    page = Page(valid)
    assert set(page.figures) == FIGURES
    for name, figure in page.figures.items():
        assert "(" in figure["layout"]["yaxis"]["title"]["text"] or name in ("rates", "backlog"), name
        assert figure["layout"]["xaxis"]["title"]["text"] in ("seconds since the load started", "percentile (%)")
        lines = [trace for trace in figure["data"] if trace["type"] != "heatmap"]
        assert all(len(trace["x"]) == len(trace["y"]) > 0 for trace in lines), name
    assert "Not available" not in page.text


def test_figures_shade_what_is_not_measured(valid: RunDir) -> None:
    shapes = Page(valid).figures["rates"]["layout"]["shapes"]
    assert [(shape["x0"], shape["x1"]) for shape in shapes] == [(0, 10), (40, 41), (41, 46)]


def test_worst_second_is_marked(invalid: RunDir) -> None:
    traces = Page(invalid).figures["rates"]["data"]
    worst = [trace for trace in traces if trace["name"].startswith("worst second")]
    assert [(one["x"], one["y"], one["name"]) for one in worst] == [([27.5], [272], "worst second: 272 sent")]


def test_invalid_run_keeps_its_numbers_under_a_banner(invalid: RunDir) -> None:
    page = Page(invalid)
    for words in ("INVALID", "a record was 327 ms late", "Do not use these numbers", "over the limit", "drifting"):
        assert words in page.text, words
    assert f"p50 {invalid.summary().latency_ms['total']['p50']:.0f} ms" in page.text
    assert page.text.index("Do not use these numbers") < page.text.index("p50")
    assert ("body", {"class": "unusable"}) in page.tags


def test_failed_run_says_what_died_and_what_is_missing(failed: RunDir) -> None:
    page = Page(failed)
    for words in (
        "FAILED",
        "Do not use these numbers",
        "engine exited unexpectedly, with exit code 137",
        "OutOfMemoryError",
        "measures/seconds.parquet: not written",
        "measures/latency.parquet: not written",
        "Not available: no result was measured",
    ):
        assert words in page.text, words
    assert set(page.figures) == {"cpu", "rss", "heap", "gc", "machine", "clock"}
    assert page.figures["cpu"]["layout"]["xaxis"]["title"]["text"] == "seconds since the first sample"


@pytest.mark.parametrize("part", ["samples", "measures", "outcome.json"])
def test_missing_part_is_named(valid: RunDir, part: str) -> None:
    path = valid.path / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert f"{part}" in Page(valid).text.partition("because the run directory lacks it")[2]


def test_a_run_without_samples_and_outcome_is_only_words(failed: RunDir) -> None:
    for path in (failed.path / "samples", failed.outcome_path):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = Page(failed)
    assert page.figures == {}
    assert "Do not use these numbers" in page.text
    assert len(page.html) < 100_000, "a page without figures has no use for plotly.js"


def test_damaged_measures_are_refused_with_the_next_command(valid: RunDir) -> None:
    valid.measures("latency").write_bytes(b"PAR1 cut short")
    with pytest.raises(UsageError, match=r"latency.parquet is damaged(.|\n)*streamgauge evaluate"):
        Page(valid)


def test_null_percentile_is_a_dash_with_a_note(valid: RunDir) -> None:
    text = Page(valid).text
    row = re.search(r"mean-input latency ([\d,]+) (\S+) ([\d.,]+) ([\d.,]+) ([\d.,]+) (\S+) ", text)
    assert row is not None and row[6] == "–"
    assert "at least 10 samples above it" in text


def test_a_figure_that_missing_results_leave_unknown_has_its_lower_bound(valid: RunDir) -> None:
    content = valid.summary()
    total = {**content.latency_ms["total"], "missing": 400, "p99": None, "p99_at_least": 60_000.0}
    change_summary(valid, latency_ms={**content.latency_ms, "total": total})
    text = Page(valid).text
    assert "p99 ≥ 60,000 ms" in text, "in the headline"
    row = re.search(r"end-to-end latency [\d,]+ (\S+) [\d.,]+ [\d.,]+ (≥ [\d.,]+) ", text)
    assert row is not None and (row[1], row[2]) == ("400", "≥ 60,000.0")


def test_the_headline_counts_every_kind_of_failed_answer(valid: RunDir) -> None:
    change_summary(valid, results={**valid.summary().results, "lost": 1, "wrong": 2, "unfinished": 3, "duplicates": 4})
    assert "answers lost 1 wrong 2 unfinished 3 duplicates 4" in Page(valid).text


def test_banner_and_latency_section_give_the_same_reason_for_the_state(valid: RunDir) -> None:
    change_summary(valid, state="drifting", state_reason="the median latency fell by 41 %: the run had not settled")
    assert Page(valid).text.count("the median latency fell by 41 %: the run had not settled") == 2


def test_negative_latencies_are_counted(valid: RunDir) -> None:
    assert "Negative values" not in Page(valid).text
    table = pa.table({"kind": ["total", "latest", "latest"], "value_ms": [5.0, -2.0, -1.0], "count": [9, 1000, 234]})
    pq.write_table(table, valid.measures("latency"))
    assert "Negative values are kept: 1,234 of processing latency;" in Page(valid).text


def test_the_total_of_a_load_without_a_schedule_is_marked(valid: RunDir) -> None:
    assert "closed loop" not in Page(valid).text
    change_summary(valid, closed_loop=True)
    text = Page(valid).text
    assert text.count("closed loop: from when the last input was sent") == 2, "in its tile, and below the table"
    assert "from the moment an input was due" not in text


def test_every_latency_has_its_resolution(valid: RunDir) -> None:
    text = Page(valid).text
    assert " 1 stamp + 1.1 clock bound " in text
    assert " 1 stamp + 20.6 visibility polling (25.3 at worst) " in text
    assert " 1 stamp + – visibility polling (– at worst) + – clock bound " in text
    summary = content(valid.summary_path)
    del summary["resolution_ms"]
    write_json(valid.summary_path, summary)
    assert "clock bound" not in Page(valid).text, "a run of an earlier version"


def test_results_of_transactions_are_said_to_count_when_visible(valid: RunDir) -> None:
    assert "transactions" not in Page(valid).text
    change_summary(valid, visible_resolution_ms={"p50": 21.4, "p99": None, "max": 38.0})
    assert "could have them, known to 21 ms in the median and 38 ms at worst." in Page(valid).text


def test_every_word_for_a_result_is_shown_and_explained(valid: RunDir) -> None:
    results = {name: 1000 * (position + 1) + 7 for position, name in enumerate(valid.summary().results)}
    change_summary(valid, results=results)
    text = Page(valid).text
    for name, count in results.items():
        assert re.search(rf"{name} {count:,} [\d.]+ % \w+", text), name


def repetition(run: str, p50_ms: float) -> dict[str, Any]:
    shown = {"run": run, "directory": run, "verdict": "VALID", "state": "steady", "reasons": []}
    return {**shown, "total_p50": p50_ms, "total_p99": None, "rate_output": 400.0}


def test_objectives_and_repetitions_only_when_there_are_any(valid: RunDir) -> None:
    assert not {"slo", "repetitions"} & {attrs.get("id") for _, attrs in Page(valid).tags}
    change_summary(
        valid,
        slo=[{"slo": "latency.p99 < 1s", "value": 710.2, "limit": 1000, "unit": "ms", "passed": True}],
        repetitions=[repetition("a", 454.0), repetition("b", 460.5)],
    )
    page = Page(valid)
    assert {"slo", "repetitions"} <= {attrs.get("id") for _, attrs in page.tags}
    for words in ("latency.p99 < 1s 710.20 1,000 ms yes", "2 runs", "460.50"):
        assert words in page.text, words


def test_processes_have_the_same_names_in_the_table_and_in_the_figures(valid: RunDir) -> None:
    samples = [sample for sample in valid.samples(ResourceSample) if sample.role == "engine"]
    valid.append_samples(*(sample.with_changes(role="worker-1", rss_mb=77.0) for sample in samples))
    page = Page(valid)
    table = page.text.partition("GC, in all (ms)")[2].partition("CPU per process")[0]
    names = [trace["name"] for trace in page.figures["cpu"]["data"]]
    assert names == ["broker", "engine", "load", "worker-1"]
    rows = re.findall(r"(all|broker|engine|load|worker-1) (broker|engine|load) (\S+) (\S+) ", table)
    assert [row[:2] for row in rows] == [
        *(("all", "engine"), ("engine", "engine"), ("worker-1", "engine")),
        *(("broker", "broker"), ("load", "load")),
    ]
    assert rows[2][2] == rows[1][2] and 0.7 < float(rows[1][2]) < 1.1 and rows[2][3] == "77"


def test_date_and_processor_are_in_the_head(valid: RunDir) -> None:
    head = Page(valid).text.partition("VALID · spark")[2].partition("Results")[0]
    assert "measured 2026-11-15 10:15 UTC · Example CPU @ 2.5 GHz, 2 cores" in head


def test_manifest_is_whole(valid: RunDir) -> None:
    text = Page(valid).text
    for words in (
        content(valid.manifest_path)["command"],
        "message.timestamp.type LogAppendTime",
        "org.apache.kafka:kafka_2.13 4.1.0",
        "python -m job 'with space' job.json",
        "load_at_start 0.4",
    ):
        assert words in text, words


CLOSED = {"input", "output", "VALID", "FAILED", "steady", "at-least-once"}
"""Words in whose place a reader lets no other through."""


def poisoned(value: Any) -> Any:
    """The same content with every string, and a key of every object that may have others, hostile."""
    if isinstance(value, dict):
        changed = {key: poisoned(item) for key, item in value.items()}
        exact = "rate_per_s" in changed or "topic" in changed
        return changed if exact or not changed else changed | {HOSTILE: next(iter(changed.values()))}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) and value not in CLOSED else value


def test_hostile_strings_stay_text(failed: RunDir, valid: RunDir) -> None:
    for run in (valid, failed):
        tags = [tag for tag, _ in Page(run).tags]
        slo = {"slo": HOSTILE, "value": None, "limit": 1.0, "unit": HOSTILE, "passed": False, HOSTILE: HOSTILE}
        texts = {"warnings": [HOSTILE], "reasons": [HOSTILE], "slo": [slo]}
        for path, changes in (
            (run.manifest_path, {}),
            (run.outcome_path, {"load_error": HOSTILE}),
            (run.summary_path, texts),
        ):
            write_json(path, poisoned(content(path)) | changes)
        resources = [sample.with_changes(role=HOSTILE) for sample in run.samples(ResourceSample)]
        (run.path / "samples" / "resources.jsonl").unlink()
        run.append_samples(*resources)
        page = Page(run)
        assert "img" not in tags and "img" not in {tag for tag, _ in page.tags}
        assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]
        assert [tag for tag, _ in page.tags].count("script") == tags.count("script") == 3
        assert HOSTILE in page.text
        assert "<" not in page.figures["cpu"]["data"][0]["name"]
        assert HOSTILE not in page.html


def test_script_data_cannot_end_its_element_and_is_the_same_json() -> None:
    content = {HOSTILE: [HOSTILE, "<!--<script>", 1.5, None]}
    escaped = as_script_data(content)
    assert "<" not in escaped
    assert json.loads(escaped) == content


def test_page_allows_its_own_scripts_only_and_no_request(valid: RunDir) -> None:
    page = Page(valid)
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'") and "http" not in policy
    for script in page.scripts[1:]:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    linked = [attrs[name] for _, attrs in page.tags for name in ("src", "href") if attrs.get(name)]
    assert linked and all(link is not None and link.startswith("#") for link in linked)
    targets = {attrs.get("id") for _, attrs in page.tags}
    assert {str(link)[1:] for link in linked} <= targets, "the contents lead somewhere"


def test_same_run_gives_the_same_bytes_and_no_path_of_the_machine(valid: RunDir) -> None:
    first = report.write(valid)
    content = first.read_bytes()
    assert report.write(valid).read_bytes() == content
    assert str(valid.path.parent).encode() not in content
    assert not list(valid.path.glob("*.part"))


def test_run_without_summary_is_refused_with_the_next_command(valid: RunDir) -> None:
    valid.summary_path.unlink()
    with pytest.raises(UsageError, match="streamgauge evaluate"):
        report.write(valid)
    assert not valid.report_path.exists()


def test_command_prints_where_the_report_is(valid: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    report_command(valid.path)
    assert capsys.readouterr().out == f"{valid.report_path}\n"
    assert valid.report_path.is_file()


def test_command_refuses_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run directory"):
        report_command(tmp_path)


def test_import_is_light() -> None:
    heavy = "{'pyspark', 'plotly', 'pyarrow', 'jinja2', 'numpy'}"
    code = f"import sys, streamgauge.report; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_write_imports_no_spark(valid: RunDir) -> None:
    code = (
        "import sys; from pathlib import Path; from streamgauge.report import write; "
        f"from streamgauge.rundir import RunDir; write(RunDir.open(Path({str(valid.path)!r}))); "
        "print([name for name in sys.modules if name == 'pyspark' or name.startswith('streamgauge.engines')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_provenance_is_shown_collapsed_once(valid: RunDir) -> None:
    manifest = content(valid.manifest_path)
    manifest["provenance"] = {
        "date": "2026-11-16T09:00:00+00:00",
        "git": {"commit": "c" * 40, "dirty": True},
        "packages": {"numpy": "2.0.1", "<b>": "1"},
    }
    manifest["environment"] = {"removed": ["_JAVA_OPTIONS"]}
    manifest["machine"] |= {"governor": "powersave", "container": "docker"}
    write_json(valid.manifest_path, manifest)
    page = report.write(valid).read_text(encoding="utf-8")
    section = page[page.index('<section id="provenance"') : page.index('<section id="manifest"')]
    assert "<details><summary>" in section
    expected = (
        "2026-11-16T09:00:00",
        "c" * 40 + ", with changes",
        "powersave",
        "docker",
        "_JAVA_OPTIONS",
        "numpy 2.0.1",
    )
    assert not [word for word in expected if word not in section]
    assert "&lt;b&gt; 1" in section
    assert page.count("numpy 2.0.1") == 1


def test_an_old_run_has_no_provenance(valid: RunDir) -> None:
    assert "Provenance" not in report.write(valid).read_text(encoding="utf-8")
