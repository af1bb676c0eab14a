"""The shared Java code for text, against the same in Python."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from streamgauge import dirs, jars
from streamgauge.engines.java import compile_java, libraries
from streamgauge.jvm.java import find_java

HARNESS = """package test;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import streamgauge.Job;
import streamgauge.streambench.Counts;
import streamgauge.streambench.Sampling;
import streamgauge.streambench.Summary;
import streamgauge.Text;

public final class Main {
  public static void main(String[] args) throws Exception {
    Job job = Job.read(Path.of(args[0]));
    Sampling sampling = Sampling.of(job);
    byte[] pattern = job.textParameter("pattern").getBytes(StandardCharsets.UTF_8);
    Summary summary = Summary.NONE;
    List<String> lines = Files.readAllLines(Path.of(args[1]), StandardCharsets.UTF_8);
    for (String line : lines) {
      String[] parts = line.split(";", 2);
      byte[] key = parts[0].getBytes(StandardCharsets.UTF_8);
      byte[] value = parts[1].getBytes(StandardCharsets.UTF_8);
      System.out.println("sample " + sampling.holds(key));
      System.out.println("grep " + Text.contains(value, pattern));
      byte[] field = Text.field(value, '\\t', (int) job.parameter("field"));
      System.out.println("field " + new String(field, StandardCharsets.UTF_8));
      for (byte[] word : Text.words(field, ' ')) {
        System.out.println("word " + new String(Counts.ofWord(word, key.length), StandardCharsets.UTF_8));
      }
      summary = summary.add(Text.number(key));
    }
    summary = summary.add(Text.number(new byte[] {'-', '4', '2'}));
    System.out.println("summary " + new String(summary.toJson(), StandardCharsets.UTF_8));
    for (String wrong : new String[] {"", "-", "1x", "1234567890123456789"}) {
      try {
        System.out.println(Text.number(wrong.getBytes(StandardCharsets.UTF_8)));
      } catch (NumberFormatException problem) {
        System.out.println(problem.getMessage());
      }
    }
  }
}
"""

KEYS = [0, 1, 7, 10, 99, 2**31 - 1, 2**31, 2**31 + 5, 2**32 + 1, 10**17, *range(1000, 1400)]
VALUES = [
    "17\tgolden gate bridge\t2006-03-01 00:00:00\t1\thttp://a.example",
    "17\tgolden\t2006-03-01 00:00:00\t\t",
    "17\t gate  golden \tgolden\t\t",
    '17\tgåte "quoted" \\ 東京\t2006-03-01 00:00:00\t3\tx',
    "17\t\t2006-03-01 00:00:00\t\t",
    "gat\tgat",
    "only one",
    "gate",
    "",
]
PARAMETERS = {"sample_percent": 10, "field": 1, "pattern": "gate"}


def expected(records: list[tuple[int, str]]) -> list[str]:
    lines = []
    for n_seq, value in records:
        kept = (n_seq % 2**31) * 2654435761 % 2**32 < PARAMETERS["sample_percent"] * 2**32 // 100
        fields = value.split("\t")
        field = fields[1] if len(fields) > 1 else ""
        lines += [f"sample {str(kept).lower()}", f"grep {str('gate' in value).lower()}", f"field {field}"]
        for word in field.split(" "):
            if word:
                counted = {"word": word, "n": len(str(n_seq))}
                lines.append("word " + json.dumps(counted, ensure_ascii=False, separators=(",", ":")))
    return lines


def test_text_is_split_as_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.fetch(["java"])
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(dirs.cache_dir() / "jars")
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    main = tmp_path / "java" / "test" / "Main.java"
    main.parent.mkdir(parents=True)
    main.write_text(HARNESS)
    records = [(n_seq, VALUES[i % len(VALUES)]) for i, n_seq in enumerate(KEYS)]
    (tmp_path / "job.json").write_text(json.dumps({"parameters": PARAMETERS}))
    (tmp_path / "records").write_text("".join(f"{n_seq};{value}\n" for n_seq, value in records))
    classes = compile_java("test", tmp_path / "java", libraries(), lambda _: None)
    done = subprocess.run(
        [
            find_java().path, "-Dstdout.encoding=UTF-8", "-Dfile.encoding=UTF-8", "-cp",
            os.pathsep.join(map(str, (classes, *libraries()))),
            "test.Main", tmp_path / "job.json", tmp_path / "records",
        ],
        capture_output=True, check=True,
    )  # fmt: skip
    lines = done.stdout.decode().splitlines()
    *taken_apart, summary, empty, sign, letter, long = lines
    assert taken_apart == expected(records)
    numbers = [*KEYS, -42]
    assert json.loads(summary.removeprefix("summary ")) == {
        "n": len(numbers),
        "min": -42,
        "max": max(numbers),
        "sum": sum(numbers),
        "mean": sum(numbers) / len(numbers),
    }
    assert empty == sign == "expected 1 to 18 digits, got 0"
    assert letter == "expected a digit, got byte 120"
    assert long == "expected 1 to 18 digits, got 19"
