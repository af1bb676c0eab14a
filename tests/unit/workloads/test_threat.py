"""Threat detection: the flows, the network and what the program gets."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.codec import Message
from streamgauge.engines.spark.workloads import threat as spark_program
from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan, ResultKind
from streamgauge.workloads.threat import CLASSES, FEATURES, network
from streamgauge.workloads.threat.classify import Classify
from streamgauge.workloads.threat.data import SHARES, Flows, flows
from threat_network import EXTREMES, HAND_WORKED, HAND_WORKED_SCORE, classify

ROOT = Path(__file__).parents[3]
LOAD = LoadPlan(rate_per_s=10, warmup_s=0, measured_s=1, tail_s=0)
FLOW = "16,6,123,10,28,924,33762,1,0,2,3,2,normal"


@cache
def generated(seed: int = 1) -> Flows:
    return Flows(seed)


@cache
def trainer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_threat", ROOT / "tools" / "train_threat.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_a_flow_has_every_feature_and_a_label() -> None:
    labels = Counter()
    for value in generated().values:
        *features, label = value.decode().split(",")
        assert len(features) == len(FEATURES)
        assert all(text == str(int(text)) and int(text) >= 0 for text in features)
        labels[label] += 1
    number = labels.total()
    assert number == 100_000
    assert {label: pytest.approx(labels[label] / number, abs=0.01) for label in labels} == dict(
        zip(CLASSES, SHARES, strict=True)
    )


def test_flows_are_a_function_of_seed_and_number() -> None:
    assert Flows(1).values == generated().values
    assert Flows(2).values[:100] != generated().values[:100]
    records = generated().build(99_999, 2)["records"]
    assert records.keys == [b"99999", b"100000"]
    assert records.values == [generated().values[-1], generated().values[0]]
    assert Classify.codec.n_seq.read(Message(records.keys[0], records.values[0])) == 99_999


def test_your_own_flows_are_replayed_unchanged(tmp_path: Path) -> None:
    lines = [FLOW, FLOW.replace("normal", "Neptune, no: my label".replace(",", ""))]
    assert Flows(1, write(tmp_path / "mine.csv", *lines)).values == [line.encode() for line in lines]


@pytest.mark.parametrize(
    ("line", "what", "got", "expected"),
    [
        (",".join((*FEATURES, "label")), "not a number", "duration_ms: 'duration_ms'", "15 digits"),
        (FLOW.replace("16,", "-16,"), "not a number", "duration_ms: '-16'", "from 0 on"),
        (FLOW.replace("924", "9.5"), "not a number", "bytes_out: '9.5'", "an integer"),
        (FLOW.replace("924", ""), "not a number", "bytes_out: ''", "an integer"),
        (FLOW.replace("924", "1" * 16), "not a number", "bytes_out: '1111", "15 digits"),
        (FLOW.replace(",normal", ""), "number of fields", "12: ", "13, each separated by one comma: duration_ms"),
        (FLOW.replace("normal", ""), "without a label", "16,6,", "such as normal"),
    ],
)
def test_an_unusable_record_is_reported_with_its_line(
    tmp_path: Path, line: str, what: str, got: str, expected: str
) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        Flows(1, write(tmp_path / "mine.csv", FLOW, line))
    problem = caught.value
    assert str(problem.where).endswith("mine.csv, line 2")
    assert got in str(problem.got)
    assert expected in str(problem.expected)


def test_a_header_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Flows(1, write(tmp_path / "mine.csv", ",".join((*FEATURES, "label")), FLOW))
    assert "tail -n +2" in str(caught.value.hint)
    with pytest.raises(UsageError) as caught:
        Flows(1, write(tmp_path / "fraction.csv", "9.5" + FLOW[FLOW.index(",") :], FLOW))
    assert caught.value.hint is None


def test_the_workload_is_registered() -> None:
    workload = registry.workload("threat/classify")
    assert isinstance(workload, Classify)
    assert workload.kind is ResultKind.ONE_TO_ONE
    assert workload.parameters().model_dump() == {"seed_file": ""}
    with pytest.raises(ValidationError):
        workload.parameters.model_validate({"field": 1})
    assert len(workload.dataset({"seed_file": ""}, 1, LOAD).values) == 100_000
    assert json.loads(json.dumps(workload.program_data({"seed_file": ""}))) == {"network": network()}


def test_the_network_reads_the_features_and_names_the_classes() -> None:
    content = network()
    assert (tuple(content["features"]), tuple(content["classes"])) == (FEATURES, CLASSES)
    for name, shape in (("hidden", (16, len(FEATURES))), ("output", (len(CLASSES), 16))):
        weights = np.array(content[name]["weights"])
        assert (weights.shape, weights.dtype) == (shape, np.int64)
        assert len(content[name]["biases"]) == shape[0]


def test_the_greatest_features_stay_within_53_bits() -> None:
    """Programs may use floating-point numbers for the sums."""
    greatest = 256 * 50.0
    for name, shift in (("hidden", network()["shift"]), ("output", 0)):
        layer = network()[name]
        rows = zip(layer["weights"], layer["biases"], strict=True)
        largest = [abs(bias) + sum(map(abs, row)) * greatest for row, bias in rows]
        assert max(largest) < 2**53
        greatest = max(largest) / 2**shift


def test_a_network_worked_out_by_hand() -> None:
    assert classify("6,2,label", HAND_WORKED) == ("right", pytest.approx(HAND_WORKED_SCORE, rel=1e-12))
    classes, scores = spark_program.answers(np.array([[6.0, 2.0]]), HAND_WORKED)
    assert classes.tolist() == [1]
    assert scores.tolist() == [pytest.approx(HAND_WORKED_SCORE, rel=1e-12)]


def test_of_equal_outputs_the_first_wins() -> None:
    even = {**HAND_WORKED, "output": {"weights": [[0, 0], [0, 0]], "biases": [5, 5]}}
    assert classify("6,2,label", even) == ("left", 0.5)
    assert [one.tolist() for one in spark_program.answers(np.array([[6.0, 2.0]]), even)] == [[0], [0.5]]


def test_the_program_for_spark_computes_what_is_defined() -> None:
    values = [*generated().values[:3_000], *(value.encode() for value in EXTREMES)]
    results = [json.loads(text) for text in spark_program._results(values, network()).to_pylist()]
    defined = [classify(value.decode(), network()) for value in values]
    assert [one["class"] for one in results] == [class_ for class_, _ in defined]
    assert [one["score"] for one in results] == pytest.approx([score for _, score in defined], rel=1e-12)
    assert {one["class"] for one in results} == set(CLASSES)


def test_the_network_finds_the_classes_of_flows_it_was_not_trained_on() -> None:
    features, classes = flows(7, 20_000)
    found, scores = spark_program.answers(features.astype(float), network())
    assert (found == classes).mean() > 0.98
    for place in range(len(CLASSES)):
        assert (found == place)[classes == place].mean() > 0.95
    assert 1 / 3 <= scores.min() < scores.max() <= 1


@pytest.mark.full
def test_the_training_script_makes_the_weights_again() -> None:
    path = ROOT / "src" / "streamgauge" / "workloads" / "threat" / "network.json"
    assert trainer().as_text(trainer().train()) == path.read_text(encoding="utf-8")


def test_the_accuracy_in_the_documentation_is_that_of_the_network() -> None:
    table = trainer().confusion(network())
    page = (ROOT / "docs" / "reference" / "workloads-threat.md").read_text(encoding="utf-8")
    assert f"{100 * table.trace() / table.sum():.2f} %" in page
