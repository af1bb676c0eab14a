"""Duration of the evaluation, compared with DuckDB computing the same figures from the same files.

    python bench/evaluation.py [--records 1000000 10000000] [--pipeline ospbench/parse] [--workers 3 [--alone]]

Prints seconds, the ratio, and the most memory that Python and all JVMs of the evaluation had together. Fails if the two
disagree or a goal is missed. The first evaluation of a pipeline and size also pays for code generation and JIT
compilation: it is shown as `first`. The goal for the ratio applies to the median of the others, because the evaluator
is kept between runs; the goal for the memory to all. With `--workers` the evaluation runs on a standalone cluster of
that many Workers on this machine; there are no goals for that. ``--alone`` leaves DuckDB out: only seconds and memory
are printed. Runs are made, and DuckDB runs, in a process of their own, so that their memory does not count.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.engines.spark import cluster
from streamgauge.evaluate import evaluate, process
from streamgauge.evaluate.metrics.generator import PART_RECORDS
from streamgauge.jvm.java import find_java
from streamgauge.jvm.spark import connect
from streamgauge.measure import plan as plans
from streamgauge.measure.evaluation import heap_need_mb
from streamgauge.model import NS_PER_S, LoadPlan
from streamgauge.model.outcome import Outcome
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios
from streamgauge.workloads.traffic.data import Traffic

# It is not installed.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
from run_files import content, write_manifest

START_NS = 1_767_225_600 * NS_PER_S
WARMUP_S, MEASURED_S, TAIL_S = 10, 29, 1
PARTITIONS = 2
BUILT_AT_ONCE = 1_000_000
GOAL_RATIO = 3.0
GOAL_MB = 4096
DUCKDB_GB = 14
RECORDED = ("key", "value", "partition", "offset", "appended_ms")


def make_run(path: Path, records: int, pipeline: str) -> RunDir:
    """A run of 40 s in which a few results are lost, duplicated or altered; written in parts that fit into memory."""
    run = RunDir.create(path)
    load = LoadPlan(records // (WARMUP_S + MEASURED_S + TAIL_S), WARMUP_S, MEASURED_S, TAIL_S)
    data = Traffic.for_rate(1, load.rate_per_s)
    ledger: list[pa.Table] = []
    last_ms = 0
    with ExitStack() as stack:
        topics = {name: stack.enter_context(Topic(run.recorded(name))) for name in (*data.streams, "output")}
        for first in range(0, load.records, BUILT_AT_ONCE):
            n_seq = np.arange(first, min(first + BUILT_AT_ONCE, load.records))
            random = np.random.default_rng((1, first))
            intended_ns = START_NS + n_seq * NS_PER_S // load.rate_per_s
            appended_ms = np.maximum.accumulate(intended_ns // 1_000_000 + random.integers(1, 4, len(n_seq)))
            appended_ms = np.maximum(appended_ms, last_ms)
            last_ms = int(appended_ms[-1])
            # Micro-batches of half a second.
            emitted_ms = (appended_ms // 500 + 1) * 500 + random.integers(80, 200, len(n_seq))
            for place, (stream, messages) in enumerate(_messages(data, n_seq).items()):
                mine = n_seq % len(data.streams) == place
                topics[stream].write(n_seq[mine], messages, appended_ms[mine], with_n_seq=True)
                keep = n_seq[mine][n_seq[mine] % 100_003 != 5]
                again = keep[keep % 50_021 == 7]
                published = np.concatenate([keep, again])
                stamps = emitted_ms[published - first]
                stamps[len(keep) :] += 1
                results = messages.take(pa.array((published - first) // len(data.streams)))
                topics["output"].write(published, _altered(results, published, pipeline), stamps)
            ledger.append(_ledger(load, n_seq, intended_ns, appended_ms))
    pq.write_table(pa.concat_tables(ledger), run.ledger(0))
    _write_rest(run, load, pipeline)
    return run


class Topic:
    """A recorded stream: one file for each partition."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._writers: dict[int, pq.ParquetWriter] = {}
        self._ends = dict.fromkeys(range(PARTITIONS), 0)

    def __enter__(self) -> Topic:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self, n_seq: np.ndarray, messages: pa.Table, stamp_ms: np.ndarray, *, with_n_seq: bool = False) -> None:
        for number in range(PARTITIONS):
            mine = (n_seq // 2 % PARTITIONS) == number
            count = int(mine.sum())
            offset = np.arange(self._ends[number], self._ends[number] + count)
            self._ends[number] += count
            own = messages.filter(pa.array(mine))
            columns = (own["key"], own["value"], np.full(count, number, np.int32), offset, stamp_ms[mine])
            table = pa.table(dict(zip(RECORDED, columns, strict=True)))
            if with_n_seq:
                table = table.append_column("n_seq", pa.array(n_seq[mine]))
            if number not in self._writers:
                file = self._directory / f"{number}.parquet"
                self._writers[number] = pq.ParquetWriter(file, table.schema, compression="zstd")
            self._writers[number].write_table(table)


def _messages(data: Traffic, n_seq: np.ndarray) -> dict[str, pa.Table]:
    """Key and value of the messages of each stream, as a load worker sends them."""
    tables = {}
    for stream, built in data.build(int(n_seq[0]), len(n_seq)).items():
        texts = {"key": pa.array(built.keys, pa.binary()), "value": pa.array(built.values, pa.binary())}
        tables[stream] = pa.table({name: array.cast(pa.string()) for name, array in texts.items()})
    return tables


def _altered(results: pa.Table, n_seq: np.ndarray, pipeline: str) -> pa.Table:
    values = results["value"]
    if pipeline.endswith("parse"):
        values = pc.replace_substring_regex(values, '": +', '":')
    altered = pc.replace_substring(values, '"period":60', '"period":61')
    values = pc.if_else(pa.array(n_seq % 70_001 == 3), altered, values)
    return results.set_column(results.column_names.index("value"), "value", values)


def _ledger(load: LoadPlan, n_seq: np.ndarray, intended_ns: np.ndarray, appended_ms: np.ndarray) -> pa.Table:
    first = np.arange(0, len(n_seq), max(load.rate_per_s // 1000, 1))
    count = np.diff(np.append(first, len(n_seq)))
    last = first + count - 1
    return pa.table(
        {
            "first": n_seq[first],
            "count": count,
            "sent_ns": intended_ns[last],
            "acked_n": n_seq[last],
            "acked_ns": (appended_ms[last] + 2) * 1_000_000,
            "errors": np.zeros(len(first), np.int64),
        }
    )


def _write_rest(run: RunDir, load: LoadPlan, pipeline: str) -> None:
    streams = [("flow", "input"), ("speed", "input"), ("output", "output")]
    write_manifest(run,
        {
            "run": run.path.name,
            "scenario": {
                "study": "ospbench", "name": "bench", "profile": "laptop", "pipeline": pipeline,
                "stage": pipeline.partition("/")[2], "parameters": {}, "sustained": "slope",
                "load": {
                    "rate_per_s": load.rate_per_s, "warmup_s": WARMUP_S, "measured_s": MEASURED_S, "tail_s": TAIL_S,
                },
            },
            "engine": {"name": "bench", "version": "0", "delivery": "at-most-once", "options": {}},
            "transport": {"name": "kafka", "own": True}, "command": "",
            "streams": [
                {"name": name, "topic": name, "partitions": PARTITIONS, "role": role} for name, role in streams
            ],
        }
    )  # fmt: skip
    at = {"load_start_ns": 0, "measured_start_ns": WARMUP_S, "measured_end_ns": WARMUP_S + MEASURED_S}
    at |= {"load_end_ns": WARMUP_S + MEASURED_S + TAIL_S, "drain_end_ns": 50}
    moments = {name: START_NS + second * NS_PER_S for name, second in at.items()}
    run.write_outcome(Outcome.blank().with_changes(**moments, drain="quiet"))


@contextmanager
def standalone(workers: int) -> Iterator[str]:
    """A standalone cluster as a run starts it, without a driver; its address."""
    changes = {"cluster": "standalone", "workers": str(workers), "worker_memory_mb": "1024"}
    scenario = scenarios.resolve("ospbench/latency", engine="spark", changes=changes)
    with Supervisor("bench-evaluation") as supervisor:
        plan = plans.draw(plans.Request(scenario, supervisor.work_dir / "out"), "bench", supervisor.work_dir)
        supervisor.start_all([spec for spec in plan.engine if spec.role != "driver"])
        yield cluster.address(plan.job)


@contextmanager
def spark_session(work_dir: Path, heap_mb: int, master: str) -> Iterator[Any]:
    """A session on the JVM that a run would start for its evaluation."""
    spec = process.plan(find_java().path, work_dir, (), master, heap_mb)[0]
    jvm = subprocess.Popen(spec.argv, env={**os.environ, **spec.env}, stdin=subprocess.PIPE)
    assert jvm.stdin is not None
    try:
        yield connect(Path(spec.env["_PYSPARK_DRIVER_CONN_INFO_PATH"]))
    finally:
        jvm.stdin.close()
        jvm.wait(30)


class Memory:
    """The most that this process and those that it has started had together, without ``others``."""

    def __init__(self, others: Sequence[int]) -> None:
        self.most_mb = 0.0
        self._others = {*others}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self) -> None:
        own = psutil.Process()
        while not self._end.wait(0.2):
            total = 0
            for one in [own, *own.children(recursive=True)]:
                try:
                    total += 0 if one.pid in self._others else one.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.most_mb = max(self.most_mb, total / 1e6)


FIELDS = ["id", "lane", "lanes", "timestamp", "flow", "speed", "period", "accuracy", "lat_e6", "lon_e6"]


def _columns(pipeline: str, source: str) -> str:
    if pipeline.endswith("ingest"):
        return f"SELECT cast(value->>'n_seq' AS BIGINT) AS n_seq, value AS v, * EXCLUDE (value) FROM {source}"
    kinds = {"id": "VARCHAR", "lane": "VARCHAR", "timestamp": "VARCHAR"}
    shape = ", ".join(f'"{name}": "{kinds.get(name, "INTEGER")}"' for name in FIELDS)
    shape = '{"n_seq": "BIGINT", ' + shape + "}"
    fields = ", ".join(f"j.{name}" for name in FIELDS)
    return (
        f"SELECT j.n_seq AS n_seq, row({fields}) AS v, * EXCLUDE (value, j) "
        f"FROM (SELECT *, from_json(value, '{shape}') AS j FROM {source})"
    )


def with_duckdb(run: RunDir, pipeline: str) -> dict[str, Any]:
    """Counts, exact percentiles and the series per second, by SQL."""
    rate = content(run.manifest_path)["scenario"]["load"]["rate_per_s"]
    moments = {name: value for name, value in run.outcome().as_json().items() if name.endswith("_ns")}
    start_ms = START_NS // 1_000_000

    def topic(*names: str) -> str:
        return "read_parquet([" + ", ".join(f"'{run.recorded(name)}/*.parquet'" for name in names) + "])"

    inputs = f"(SELECT value, appended_ms FROM {topic('flow', 'speed')})"
    outputs = f'(SELECT value, partition, "offset", appended_ms AS emitted_ms FROM {topic("output")})'
    base = duckdb.connect()
    base.execute("SET enable_progress_bar = false")
    # Spark spills what does not fit; so does most of DuckDB, if it knows its limit and a place.
    base.execute("SET preserve_insertion_order = false")
    base.execute(f"SET memory_limit = '{DUCKDB_GB}GB'")
    base.execute(f"SET temp_directory = '{run.path.parent / 'duckdb'}'")
    base.execute(
        f"""
        CREATE TEMP TABLE keys AS
        WITH answer AS ({_columns(pipeline, inputs)}), output AS ({_columns(pipeline, outputs)}),
        pairs AS (
            SELECT n_seq, answer.n_seq AS a, output.n_seq AS o, answer.appended_ms, output.emitted_ms, output.partition,
                output."offset", answer.v IS NOT DISTINCT FROM output.v AS is_right
            FROM answer FULL JOIN output USING (n_seq))
        SELECT n_seq, count(a) AS answers, count(o) AS outputs, max(appended_ms) AS appended_ms,
            avg(appended_ms) AS appended_mean_ms, count(*) FILTER (is_right) AS rights,
            min(emitted_ms) FILTER (is_right) AS right_ms, min(emitted_ms) AS first_ms,
            arg_max(is_right, (emitted_ms, partition, "offset")) AS ends_right,
            {START_NS} + n_seq * {NS_PER_S} // {rate} AS anchor_ns
        FROM pairs GROUP BY n_seq"""
    )
    counts = base.execute(
        f"""SELECT count(*) AS expected, count(*) FILTER (outputs > 0 AND ends_right) AS matched,
            count(*) FILTER (outputs > 0 AND NOT ends_right) AS wrong, count(*) FILTER (outputs = 0) AS lost,
            sum(greatest(rights - 1, 0)) AS duplicates,
            sum(outputs - rights - (outputs > 0 AND NOT ends_right)::INTEGER) AS intermediate,
            (SELECT count(*) FROM keys WHERE answers = 0) AS unexpected
            FROM keys WHERE answers > 0 AND anchor_ns < {moments["measured_end_ns"]}"""
    ).fetchone()
    quantiles = "[0.5, 0.9, 0.99, 0.999]"
    kinds = {
        "total": "right_ms - anchor_ns // 1000000",
        "latest": "right_ms - appended_ms",
        "average": "right_ms - appended_mean_ms",
        "generator_share": "appended_ms - anchor_ns // 1000000",
    }
    spread = [f"quantile_cont({kind}, {quantiles}) || [max({kind}), avg({kind})]" for kind in kinds]
    percentiles = base.execute(
        f"""SELECT {", ".join(spread)} FROM (
            SELECT {", ".join(f"{value} AS {kind}" for kind, value in kinds.items())} FROM keys
            WHERE outputs > 0 AND ends_right AND anchor_ns >= {moments["measured_start_ns"]}
            AND anchor_ns < {moments["measured_end_ns"]})"""
    ).fetchone()
    series = base.execute(
        f"""SELECT (anchor_ns - {START_NS}) // {NS_PER_S} AS second, quantile_cont(total, [0.5, 0.99]), max(total),
            quantile_cont(latest, [0.5, 0.99]), max(latest) FROM (
            SELECT anchor_ns, right_ms - anchor_ns // 1000000 AS total, right_ms - appended_ms AS latest,
                outputs > 0 AND ends_right AS is_right FROM keys WHERE answers > 0)
            GROUP BY second HAVING bool_and(is_right) ORDER BY second"""
    ).fetchall()
    moves = base.execute(
        f"""SELECT ms // 1000 AS second, sum(n), sum(n * (1000 - ms % 1000)) / 1000 FROM (
            SELECT appended_ms - {start_ms} AS ms, 1 AS n FROM keys WHERE outputs > 0
            UNION ALL SELECT if(ends_right, right_ms, first_ms) - {start_ms}, -1 FROM keys WHERE outputs > 0)
            GROUP BY second ORDER BY second"""
    ).fetchall()
    rates = base.execute(
        f"""SELECT second, sum(inputs), sum(outputs) FROM (
            SELECT (appended_ms - {start_ms}) // 1000 AS second, 1 AS inputs, 0 AS outputs FROM {inputs}
            UNION ALL SELECT (emitted_ms - {start_ms}) // 1000, 0, 1 FROM {outputs}) GROUP BY second"""
    ).fetchall()
    base.execute(
        f"""CREATE TEMP TABLE sent AS
        SELECT n_seq, sent_ns - ({START_NS} + n_seq * {NS_PER_S} // {rate}) AS late_ns, n_seq // {rate} AS second
        FROM (SELECT unnest(range(first, first + count)) AS n_seq, sent_ns FROM '{run.ledger(0)}')"""
    )
    # Of many records, streamgauge counts lateness to the microsecond.
    [(sent,)] = base.execute("SELECT count(*) FROM sent").fetchall()
    late_ms = "late_ns / 1e6" if sent < PART_RECORDS else "round_even(late_ns / 1e3, 0) / 1e3"
    late = base.execute(
        f"""SELECT quantile_cont({late_ms}, [0.5, 0.99]), max(late_ns / 1e6) FROM sent
            WHERE second >= {WARMUP_S} AND second < {WARMUP_S + MEASURED_S}"""
    ).fetchone()
    latest_by_second = base.execute("SELECT second, max(late_ns) / 1e6 FROM sent GROUP BY second").fetchall()
    assert counts is not None and percentiles is not None and late is not None
    return {
        "counts": counts,
        "latency_ms": dict(zip(kinds, percentiles, strict=True)),
        "series": series,
        "moves": moves,
        "rates": rates,
        "late": (*late[0], late[1]),
        "latest_by_second": latest_by_second,
    }


def disagreements(run: RunDir, spark: dict[str, Any], duck: dict[str, Any]) -> list[str]:
    """Every figure in which the two differ."""
    names = ("expected", "matched", "wrong", "lost", "duplicates", "intermediate", "unexpected")
    pairs = [(name, spark["results"][name], int(n)) for name, n in zip(names, duck["counts"], strict=True)]
    for kind, theirs in duck["latency_ms"].items():
        shown = [spark["latency_ms"][kind][name] for name in ("p50", "p90", "p99", "p999", "max", "mean")]
        # If results are missing, maximum and mean are unknown.
        known = [(place, a, b) for place, (a, b) in enumerate(zip(shown, theirs, strict=True)) if a is not None]
        pairs += [(f"{kind} {place}", a, round(b, 3)) for place, a, b in known]
    shown = [spark["generator"][f"late_{name}_ms"] for name in ("p50", "p99", "max")]
    pairs += [("lateness", a, round(b, 3)) for a, b in zip(shown, duck["late"], strict=True)]
    seconds = pq.read_table(run.measures("seconds")).to_pylist()
    for second, (p50, p99), highest, (l50, l99), l_highest in duck["series"]:
        mine = seconds[second]
        shown = [
            mine[name] for name in ("total_p50", "total_p99", "total_max", "latest_p50", "latest_p99", "latest_max")
        ]
        theirs = [p50, p99, highest, l50, l99, l_highest]
        # Too few results in a second for a high percentile.
        known = [(a, b) for a, b in zip(shown, theirs, strict=True) if a is not None]
        pairs += [(f"second {second}", round(a, 3), round(b, 3)) for a, b in known]
    for second, appended, output in duck["rates"]:
        pairs += [("appended", seconds[second]["appended"], appended), ("output", seconds[second]["output"], output)]
    pairs += [("latest", round(seconds[s]["late_max_ms"], 3), round(ms, 3)) for s, ms in duck["latest_by_second"]]
    backlog, moves = 0, {second: counted for second, *counted in duck["moves"]}
    for second in seconds:
        moved, for_so_long = moves.get(second["second"], (0, 0.0))
        mean = float(backlog + for_so_long)
        pairs.append((f"backlog {second['second']}", round(second["backlog"], 3), round(mean, 3)))
        backlog += moved
    return [f"{name}: {a} against {b}" for name, a, b in pairs if a != b]


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--pipeline", nargs="+", default=["ospbench/ingest", "ospbench/parse"])
    parser.add_argument("--heap-mb", type=int, help="default: as for a run with the most of --records")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0, help="of a standalone cluster; 0: in one process")
    parser.add_argument("--alone", action="store_true", help="without DuckDB, so without the ratio and its goal")
    parser.add_argument("--keep", type=Path, help="store the run directories here, and reuse existing ones")
    asked = parser.parse_args(argv)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        master = f"local[{os.cpu_count()}]"
        if asked.workers:
            master = stack.enter_context(standalone(asked.workers))
        began = time.perf_counter()
        apart = stack.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context("spawn")))
        others = [apart.submit(os.getpid).result(), multiprocessing.resource_tracker._resource_tracker._pid or 0]
        heap_mb = asked.heap_mb or heap_need_mb(max(asked.records))
        with spark_session(Path(scratch), heap_mb, master) as session:
            print(f"session ready after {time.perf_counter() - began:.1f} s")
            for records in asked.records:
                for pipeline in asked.pipeline:
                    path = (asked.keep or Path(scratch)) / f"{pipeline.replace('/', '-')}-{records}"
                    run = RunDir(path) if path.exists() else apart.submit(make_run, path, records, pipeline).result()
                    ratios = []
                    for number in range(asked.repeat):
                        began = time.perf_counter()
                        with Memory(others) as memory:
                            summary = evaluate(session, run)
                        spark_s = time.perf_counter() - began
                        used = f"{spark_s:6.1f} s, {memory.most_mb:5,.0f} MB"
                        first = "  (first)" if number == 0 else ""
                        too_much = memory.most_mb > GOAL_MB and not asked.workers
                        missed = f", goal below {GOAL_MB:,} MB MISSED" if too_much else ""
                        print(f"{pipeline} {records:>11,} records: Spark {used}{missed}{first}", flush=True)
                        wrong += too_much
                        if asked.alone:
                            continue
                        began = time.perf_counter()
                        duck = apart.submit(with_duckdb, run, pipeline).result()
                        duck_s = time.perf_counter() - began
                        print(f"  DuckDB {duck_s:6.1f} s, ratio {spark_s / duck_s:4.1f}", flush=True)
                        ratios.append(spark_s / duck_s)
                        for line in disagreements(run, summary.as_json(), duck)[:10]:
                            print("  they disagree:", line)
                            wrong += 1
                    if asked.alone:
                        continue
                    ratio = statistics.median(ratios[1:] or ratios)
                    missed = ratio > GOAL_RATIO and not asked.workers
                    wrong += missed
                    goal = f"; goal: at most {GOAL_RATIO:g}: {'MISSED' if missed else 'met'}"
                    print(f"  median ratio {ratio:.1f}" + ("" if asked.workers else goal), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
