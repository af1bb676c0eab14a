"""The correct answers of every stage: computed by hand, recomputed in plain Python, and broken on purpose."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from synthetic import Output, SyntheticRun, message

from streamgauge import registry
from streamgauge.evaluate import evaluate
from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.match import compare, count, judge
from streamgauge.evaluate.tally import Tally, results
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.summary import Rates
from streamgauge.workloads.traffic.stages import MESSAGE

T0_MS = 1_767_225_600_000
"""A whole second. All times below are milliseconds after it."""
SENT_BEFORE_MS = {"flow": 3, "speed": 40}
"""Between intended and appended: the last intended message need not be the last appended one."""
PARAMETERS = {"out_of_order_ms": 500, "join_bound_ms": 1000}
LOOKBACKS_S = {"ospbench": (1, 2), "stage-latency": (4, 9)}
_INPUT = (
    "key string, value string, partition int, offset bigint, appended_ms bigint, n_seq bigint, intended_ns bigint, "
    "partition_bit bigint"
)
PARTITION_BITS = {"flow": 0b01, "speed": 0b10}
_OUTPUT = "key string, value string, partition int, offset bigint, appended_ms bigint"


class Stage:
    """A workload with the parameters of a study: ``study/stage``."""

    def __init__(self, name: str) -> None:
        study, _, stage = name.partition("/")
        self.workload = registry.workload(f"traffic/{stage}")
        self.key = self.workload.key
        self.parameters = {**PARAMETERS, "lookbacks_s": LOOKBACKS_S[study]}

    @property
    def values(self) -> tuple[str, ...]:
        """Columns of an answer that are neither key nor timestamps."""
        if self.workload.name == "traffic/ingest":
            return ("message",)
        fields = MESSAGE if self.workload.name == "traffic/parse" else self.workload.fields(self.parameters)
        return tuple(name for name, _ in fields if name not in self.key)

    def reference(self, inputs: Mapping[str, Any]) -> Any:
        return self.workload.reference(inputs, self.parameters)

    def decode(self, output: Any) -> Any:
        return self.workload.decode(output, self.parameters)


class Lane(NamedTuple):
    """A flow and a speed message of one lane and round: their content, and when each was appended (None: never)."""

    round: int
    id: str
    lane: int
    flow: int
    speed: int
    flow_at: int | None
    speed_at: int | None

    @property
    def key(self) -> tuple[str, str, str]:
        return f"2026-01-01 00:{self.round:02}:00", self.id, f"lane{self.lane}"


# Of A, the speed of lane 2 comes in the next second at first (950 and 1050), then one millisecond too late for the
# bound; second 3 begins with its flow. Of B, the speed comes before the flow, then as late as the bound allows.
EXAMPLE = (
    Lane(0, "A", 1, 10, 80, 100, 110),
    Lane(0, "A", 2, 5, 100, 950, 1050),
    Lane(0, "B", 1, 0, 60, 200, 190),
    Lane(1, "A", 1, 20, 90, 1100, 1101),
    Lane(1, "A", 2, 7, 70, 1200, 2201),
    Lane(1, "B", 1, 3, 50, 1300, 2300),
    Lane(2, "B", 1, 9, 75, 2500, 2400),
    Lane(3, "A", 1, 30, 60, 3000, 3002),
    Lane(4, "A", 1, 40, 60, 3500, None),
    Lane(4, "B", 1, 40, 60, None, 3500),
)


def inputs(spark: Any, lanes: Iterable[Lane]) -> dict[str, Any]:
    """The two topics, as the evaluation passes them to a workload."""
    rows: dict[str, list[tuple[Any, ...]]] = {"flow": [], "speed": []}
    lanes_of: dict[str, int] = defaultdict(int)
    lanes = list(lanes)
    for one in lanes:
        lanes_of[one.id] = max(lanes_of[one.id], one.lane)
    for place, one in enumerate(lanes):
        timestamp, id_, lane = one.key
        sides = (("flow", one.flow, one.flow_at), ("speed", one.speed, one.speed_at))
        for n_seq, (stream, amount, at_ms) in enumerate(sides, start=2 * place):
            if at_ms is None:
                continue
            value = {"n_seq": n_seq, "id": id_, "lane": lane, "lanes": lanes_of[id_], "timestamp": timestamp}
            intended_ns = (T0_MS + at_ms - SENT_BEFORE_MS[stream]) * NS_PER_MS
            rest = {stream: amount, "period": 60, "accuracy": 95, "lat_e6": 52000000, "lon_e6": -4000000}
            text = padded({**value, **rest})
            rows[stream].append((id_, text, 0, n_seq, T0_MS + at_ms, n_seq, intended_ns, PARTITION_BITS[stream]))
    return {stream: spark.createDataFrame(mine, _INPUT) for stream, mine in rows.items()}


def padded(fields: Mapping[str, Any]) -> str:
    """A message as the data set writes it."""
    return json.dumps(fields, separators=(",", ":")).replace('"n_seq":', '"n_seq":     ')


def answer(spark: Any, stage: str, lanes: Iterable[Lane], *, places: bool = False) -> list[dict[str, Any]]:
    """The rows of the reference; ``places`` adds the partitions of their inputs and the first append time."""
    computed = Stage(stage)
    rows = [row.asDict() for row in computed.reference(inputs(spark, lanes)).collect()]
    for row in rows if not places else ():
        del row["appended_min_ms"], row["partitions"]
    if computed.workload.name == "traffic/parse":
        rows = [{**dict.fromkeys(computed.values), **row, **json.loads(row.pop("message"))} for row in rows]
    return sorted(rows, key=lambda row: tuple(row[name] for name in computed.key))


def stamps(inputs: int, appended_max: int, appended_sum: int, intended_max: int) -> dict[str, Any]:
    """The columns that describe the inputs of an answer; the sum is that of their times."""
    return {
        "inputs": inputs,
        "appended_max_ms": T0_MS + appended_max,
        "appended_mean_ms": (inputs * T0_MS + appended_sum) / inputs,
        "intended_max_ns": (T0_MS + intended_max) * NS_PER_MS,
    }


def test_join(spark: Any) -> None:
    def row(place: int, lanes: int, appended_max: int, appended_sum: int, intended_max: int) -> dict[str, Any]:
        one = EXAMPLE[place]
        fields = dict(zip(("timestamp", "id", "lane"), one.key, strict=True))
        return {
            **fields,
            "lanes": lanes,
            "flow": one.flow,
            "speed": one.speed,
            **stamps(2, appended_max, appended_sum, intended_max),
        }

    assert answer(spark, "ospbench/join", EXAMPLE) == [
        row(0, 2, 110, 210, 97),
        row(1, 2, 1050, 2000, 1010),
        row(2, 1, 200, 390, 197),
        row(3, 2, 1101, 2201, 1097),
        row(5, 1, 2300, 3600, 2260),
        row(6, 1, 2500, 4900, 2497),
        row(7, 2, 3002, 6002, 2997),
    ]


def test_tumbling(spark: Any) -> None:
    def row(id_: str, end: int, flow: int, speed: float, n: int, **stamped: Any) -> dict[str, Any]:
        return {"id": id_, "window_end_ms": T0_MS + end, "flow": flow, "speed": speed, "n": n, **stamped}

    assert answer(spark, "ospbench/tumbling", EXAMPLE) == [
        row("A", 1000, 15, 90.0, 2, **stamps(4, 1050, 2210, 1010)),
        row("A", 2000, 20, 90.0, 1, **stamps(2, 1101, 2201, 1097)),
        row("A", 4000, 30, 60.0, 1, **stamps(2, 3002, 6002, 2997)),
        row("B", 1000, 0, 60.0, 1, **stamps(2, 200, 390, 197)),
        row("B", 2000, 3, 50.0, 1, **stamps(2, 2300, 3600, 2260)),
        row("B", 3000, 9, 75.0, 1, **stamps(2, 2500, 4900, 2497)),
    ]


def sliding_row(
    id_: str, end: int, changes: Mapping[str, float | None], n: int, new: int, **stamped: Any
) -> dict[str, Any]:
    return {"id": id_, "window_end_ms": T0_MS + end, **changes, "n": n, "new_inputs": new, **stamped}


def changes(k: Sequence[int], *values: float | None) -> dict[str, float | None]:
    """Flow and speed against one earlier second, then against the other."""
    names = [f"{what}_change_{back}" for back in k for what in ("flow", "speed")]
    return dict(zip(names, values, strict=True))


def test_sliding(spark: Any) -> None:
    k = (1, 2)
    assert answer(spark, "ospbench/sliding", EXAMPLE) == [
        sliding_row("A", 1000, changes(k, None, None, None, None), 2, 4, **stamps(4, 1050, 2210, 1010)),
        sliding_row("A", 2000, changes(k, 5 / 15, 0.0, None, None), 3, 2, **stamps(6, 1101, 4411, 1097)),
        # Second 2 has no row; against second 1.
        sliding_row("A", 4000, changes(k, None, None, 0.5, -30 / 90), 2, 2, **stamps(4, 3002, 8203, 2997)),
        sliding_row("B", 1000, changes(k, None, None, None, None), 1, 2, **stamps(2, 200, 390, 197)),
        # No cars in second 0: no relative change, but its records still count as inputs.
        sliding_row("B", 2000, changes(k, None, -10 / 60, None, None), 2, 2, **stamps(4, 2300, 3990, 2260)),
        sliding_row("B", 3000, changes(k, 2.0, 0.5, None, 0.25), 3, 2, **stamps(6, 2500, 8890, 2497)),
    ]


def test_sliding_of_stage_latency_looks_back_four_and_nine_seconds(spark: Any) -> None:
    lanes = [
        Lane(second, "A", 1, flow, speed, 1000 * second + 500, 1000 * second + 510)
        for second, flow, speed in ((0, 10, 50), (1, 99, 99), (5, 20, 100), (9, 30, 75))
    ]
    k = (4, 9)
    assert answer(spark, "stage-latency/sliding", lanes) == [
        sliding_row("A", 1000, changes(k, None, None, None, None), 1, 2, **stamps(2, 510, 1010, 497)),
        sliding_row("A", 2000, changes(k, None, None, None, None), 1, 2, **stamps(2, 1510, 3010, 1497)),
        sliding_row("A", 6000, changes(k, -79 / 99, 1 / 99, None, None), 2, 2, **stamps(4, 5510, 14020, 5497)),
        sliding_row("A", 10000, changes(k, 0.5, -0.25, 2.0, 0.5), 3, 2, **stamps(6, 9510, 31030, 9497)),
    ]


def at_random(seed: int, rounds: int = 40) -> list[Lane]:
    """Points of one to three lanes, with pauses, empty roads, and speed messages on either side of the join bound."""
    dice = random.Random(seed)
    lanes = []
    for point in range(5):
        now_ms = dice.randrange(1000)
        for round_ in range(rounds):
            now_ms += dice.choice((300, 900, 1000, 1000, 1100, 2300))
            for lane in range(1 + point % 3):
                flow_at = now_ms + dice.randrange(200)
                apart = dice.choice((0, 1, -3, 40, 999, 1000, 1001, -1000, -1001))
                flow, speed = dice.choice((0, 0, 7, 30)), dice.randrange(40, 131)
                speed_at = None if dice.random() < 0.05 else max(flow_at + apart, 0)
                lanes.append(Lane(round_, f"P{point}", 1 + lane, flow, speed, flow_at, speed_at))
    dice.shuffle(lanes)
    return lanes


def by_definition(lanes: Iterable[Lane], look_back_s: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """The rows of tumbling and sliding, in plain Python: key, values, and the times of all inputs."""
    seconds: dict[tuple[str, int], list[Lane]] = defaultdict(list)
    for one in lanes:
        if one.flow_at is not None and one.speed_at is not None and abs(one.flow_at - one.speed_at) <= 1000:
            seconds[one.id, one.flow_at // 1000].append(one)
    flow = {key: sum(one.flow for one in same_second) for key, same_second in seconds.items()}
    speed = {key: sum(one.speed for one in same_second) / len(same_second) for key, same_second in seconds.items()}

    def moments(same_second: Sequence[Lane]) -> list[int]:
        return sorted(at for one in same_second for at in (one.flow_at, one.speed_at) if at is not None)

    tumbling, sliding = [], []
    for id_, second in sorted(seconds):
        same_second = seconds[id_, second]
        end_ms = T0_MS + 1000 * second + 1000
        tumbling.append((id_, end_ms, flow[id_, second], speed[id_, second], len(same_second), moments(same_second)))
        needed, relative = list(same_second), []
        for k in look_back_s:
            before = (id_, second - k)
            needed += seconds.get(before, [])
            for value in (flow, speed):
                then = value.get(before)
                relative.append((value[id_, second] - then) / then if then else None)
        sliding.append((id_, end_ms, *relative, len(needed), moments(needed)))
    return tumbling, sliding


@pytest.mark.parametrize("study", LOOKBACKS_S)
def test_windows_match_the_definition(spark: Any, study: str) -> None:
    look_back_s = LOOKBACKS_S[study]
    lanes = at_random(seed=look_back_s[0])
    expected = dict(zip(("tumbling", "sliding"), by_definition(lanes, look_back_s), strict=True))
    for stage, rows in expected.items():
        computed = Stage(f"{study}/{stage}")
        answers = answer(spark, f"{study}/{stage}", lanes, places=True)
        assert len(answers) > 100
        assert [tuple(row[name] for name in (*computed.key, *computed.values)) for row in answers] == [
            row[:-1] for row in rows
        ]
        names = ("inputs", "appended_min_ms", "appended_max_ms", "appended_mean_ms", "partitions")
        assert [tuple(row[name] for name in names) for row in answers] == [
            (len(at), T0_MS + at[0], T0_MS + at[-1], (len(at) * T0_MS + sum(at)) / len(at), 0b11)
            for at in (row[-1] for row in rows)
        ]
        # Each message is new in one row.
        messages = sum(len(row[-1]) for row in expected["tumbling"])
        assert sum(row.get("new_inputs", row["inputs"]) for row in answers) == messages


def altered(value: Any) -> Any:
    """Wrong by as little as possible."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value + " "
    return value + 1 if isinstance(value, int) else value + 1e-6 * (1 + abs(value))


@pytest.mark.parametrize(
    "name",
    [
        *("ospbench/parse", "ospbench/sliding"),
        *(pytest.param(f"ospbench/{stage}", marks=pytest.mark.full) for stage in ("ingest", "join", "tumbling")),
        pytest.param("stage-latency/sliding", marks=pytest.mark.full),
    ],
)
def test_every_error_in_the_output_is_classified(spark: Any, name: str) -> None:
    """One row is dropped, one duplicated, one is late after a preliminary one, and each column is wrong once."""
    stage, lanes = Stage(name), at_random(seed=5, rounds=8)
    rows = answer(spark, name, lanes)
    kept, _dropped, doubled, late, *others = rows[:10], *rows[10:]
    wrong = dict(zip(stage.values, others, strict=False))
    emitted: list[tuple[dict[str, Any], int]] = [(doubled, 100), (doubled, 150), (late, 5000)]
    emitted.append(({**late, stage.values[-1]: altered(late[stage.values[-1]])}, 100))
    emitted += [({**row, column: altered(row[column])}, 100) for column, row in wrong.items()]
    emitted += [(row, 100) for row in kept + others[len(wrong) :]]
    # A key that the reference does not have.
    key = stage.key[-1]
    emitted.append(({**rows[0], key: 10**9 if isinstance(rows[0][key], int) else "nowhere"}, 100))
    values = [
        (encode(stage, row, place), row["appended_max_ms"] + after_ms) for place, (row, after_ms) in enumerate(emitted)
    ]
    values.append(("no JSON", T0_MS))
    output = spark.createDataFrame([("k", text, 0, place, at) for place, (text, at) in enumerate(values)], _OUTPUT)
    decoded = stage.decode(output).withColumnRenamed("appended_ms", "emitted_ms")
    judged = judge(compare(stage.reference(inputs(spark, lanes)), decoded, stage.key))
    start_ns = (T0_MS - 1000) * NS_PER_MS
    moments = Moments(start_ns, start_ns, *(start_ns + second * NS_PER_S for second in (60, 61, 70)))
    tally = Tally.of(count(judged, moments).toArrow(), quiet=True, outputs=len(values))
    counts = {
        "expected": len(rows),
        "matched": len(rows) - 1 - len(wrong),
        "wrong": len(wrong),
        "lost": 1,
        "unfinished": 0,
        "duplicates": 1,
        "intermediate": 1,
        "reverted": 0,
        "unexpected": 2,
    }
    assert {name: results(tally)[name] for name in counts} == counts
    assert len(wrong) == len(stage.values)
    assert tally.repeated_keys == 0
    assert sorted(set(tally.latest_ms[tally.timed].tolist())) == [100, 5000]
    assert tally.inputs.sum() == sum(row["inputs"] for row in rows)


COMPACT = (
    '{"n_seq":7,"id":"A","lane":"lane1","lanes":2,"timestamp":"2026-01-01 00:00:00","flow":3,"period":60,"accuracy":95,'
    '"lat_e6":52000000,"lon_e6":-4000000}'
)


WRITTEN_OTHERWISE = (
    COMPACT,
    COMPACT.replace(":", ": ", 1),
    COMPACT.replace(",", " , "),
    COMPACT + "\n",
    json.dumps(dict(reversed(json.loads(COMPACT).items()))),
    COMPACT.replace("}", ',"speed":null}'),
    COMPACT.replace('"A"', r'"\u0041"'),
)
WRONG = (
    COMPACT.replace('"A"', '"A "'),
    COMPACT.replace('"A"', '": A"'),
    COMPACT.replace("00:00:00", "00: 00:00"),
    COMPACT.replace("-4000000", "4000000"),
    COMPACT.replace('"flow"', '"speed"'),
    COMPACT.replace(',"flow":3', ""),
    COMPACT.replace(',"flow":3', ',"flow":3,"speed":0'),
    COMPACT.replace('"flow":3', '"flow":4294967299'),
    COMPACT[:-1],
)


def test_a_parsed_message_is_compared_by_its_fields_not_its_text(spark: Any) -> None:
    stage, texts = Stage("ospbench/parse"), (*WRITTEN_OTHERWISE, *WRONG)
    sent = [re.sub(r'(?<="n_seq":)7', f"    {n_seq}", COMPACT) for n_seq in range(len(texts))]
    rows = [("A", text, 0, n_seq, T0_MS, n_seq, T0_MS * NS_PER_MS, 1) for n_seq, text in enumerate(sent)]
    answers = stage.reference({"flow": spark.createDataFrame(rows, _INPUT)})
    results = [re.sub(r'(?<="n_seq":)( ?)7', rf"\g<1>{n_seq}", text) for n_seq, text in enumerate(texts)]
    emitted = [("A", text, 0, n_seq, T0_MS + 1) for n_seq, text in enumerate(results)]
    decoded = stage.decode(spark.createDataFrame(emitted, _OUTPUT)).withColumnRenamed("appended_ms", "emitted_ms")
    judged = {row["n_seq"]: row for row in judge(compare(answers, decoded, stage.key)).collect()}
    assert {row["outputs"] for row in judged.values()} == {1}
    right = [texts[n_seq] for n_seq in sorted(judged) if judged[n_seq]["right_outputs"]]
    assert right == list(WRITTEN_OTHERWISE)


def encode(stage: Stage, row: Mapping[str, Any], place: int) -> str:
    """A row as an engine may publish it: fields in any order, null fields written or omitted."""
    if "message" in stage.values:
        return re.sub(r'(?<="n_seq":)( *)\d+', rf"\g<1>{row['n_seq']}", str(row["message"]))
    fields = {name: row[name] for name in (*stage.values, *stage.key)}
    if place % 3 == 0 and stage.workload.name == "traffic/parse":
        in_order = {name: row[name] for name, _ in MESSAGE if row[name] is not None}
        return json.dumps(in_order, separators=(",", ":"))
    return json.dumps(fields if place % 2 else {name: value for name, value in fields.items() if value is not None})


def pairs_run(answered: int, **changed: Any) -> SyntheticRun:
    """Record 2n is a flow message, 2n + 1 the speed message 100 ms later; ``answered`` pairs have a result."""
    made = SyntheticRun(pipeline="ospbench/join", parameters=PARAMETERS, **changed)
    made.outputs = []
    for pair in range(answered):
        flow, speed = (json.loads(message(n)) for n in (2 * pair, 2 * pair + 1))
        joined = {name: flow[name] for name in ("timestamp", "id", "lane", "lanes", "flow")} | {"speed": speed["speed"]}
        made.outputs.append(Output(2 * pair + 1, 30, json.dumps(joined)))
    return made


def test_a_run_whose_results_have_two_inputs(spark: Any, tmp_path: Path) -> None:
    summary = evaluate(spark, pairs_run(20).write(tmp_path / "run"))
    assert summary.verdict == "VALID"
    assert summary.results["expected"] == summary.results["matched"] == 15
    # 5 s … 14: emitted 30 ms after the speed was due, 27 ms after it was there; the flow was there 100 ms earlier.
    means = {kind: summary.latency_ms[kind]["mean"] for kind in ("total", "latest", "average", "generator_share")}
    assert means == {"total": 30.0, "latest": 27.0, "average": 77.0, "generator_share": 3.0}
    assert summary.latency_ms["total"]["count"] == 10
    assert summary.rate_per_s == Rates(offered=10.0, achieved=10.0, worst_second=10, appended=10.0, output=5.0)


def test_the_backlog_counts_inputs_not_results(spark: Any, tmp_path: Path) -> None:
    summary = evaluate(spark, pairs_run(10, drain="deadline", drain_s=1.0).write(tmp_path / "run"))
    assert (summary.results["matched"], summary.results["unfinished"]) == (10, 5)
    assert summary.backlog.end == 20
    seconds = pq.read_table(tmp_path / "run/measures/seconds.parquet").column("backlog").to_pylist()
    # Five pairs a second: answered ones wait for 27 ms, the others from 0.103, 0.303, … of their second on.
    assert seconds == pytest.approx([0.27, 0.27, 4.97, 14.97, 20])


def test_a_lane_twice_in_a_round_is_invalid(spark: Any, tmp_path: Path) -> None:
    made = pairs_run(20)
    made.inputs.append(12)
    summary = evaluate(spark, made.write(tmp_path / "run"))
    assert summary.verdict == "INVALID"
    assert summary.reasons[0] == "1 keys of the reference answer are not unique"
