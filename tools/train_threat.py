"""Trains the network of threat/classify and writes src/streamgauge/workloads/threat/network.json.

    python tools/train_threat.py [FILE]

Training data are synthetic flows of one seed, held-out data those of another. The weights are rounded after every
step, so that the last bits of a sum, which depend on the machine, do not change the result. Recorded runs are evaluated
with this file: a network that differs needs a file of its own.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from streamgauge.engines.spark.workloads.threat import answers
from streamgauge.workloads import threat
from streamgauge.workloads.threat.data import flows

TRAINING_SEED, HELD_OUT_SEED = 1001, 1
"""A run's data set has seed 1 by default: it is held out."""
TRAINING_FLOWS, HELD_OUT_FLOWS = 40_000, 100_000
NEURONS = 16
EPOCHS, BATCH, RATE = 12, 400, 0.01
GRID = 2.0**20
"""Weights are multiples of 1/GRID during the training."""
WEIGHT_BITS, INPUT_BITS = 12, 8
"""Fractional bits of a weight, and of an input or a hidden value."""
FILE = Path(threat.__file__).with_name("network.json")


def train() -> dict[str, Any]:
    features, classes = flows(TRAINING_SEED, TRAINING_FLOWS)
    inputs = np.log2(features + 1.0)
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    inputs = (inputs - mean) / spread
    random = np.random.Generator(np.random.Philox(key=[TRAINING_SEED, 0]))
    sizes = (len(threat.FEATURES), NEURONS, len(threat.CLASSES))
    parts = []
    for size_in, size_out in pairwise(sizes):
        parts += [random.normal(0, np.sqrt(2 / size_in), (size_in, size_out)), np.zeros(size_out)]
    parts = [_on_grid(part) for part in parts]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
    wanted = np.eye(sizes[-1])[classes]
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(inputs))
        for first in range(0, len(order), BATCH):
            step += 1
            rows = order[first : first + BATCH]
            gradients = _gradients(inputs[rows], wanted[rows], parts)
            for place, gradient in enumerate(gradients):
                low, high = moments[place]
                low, high = 0.9 * low + 0.1 * gradient, 0.999 * high + 0.001 * gradient**2
                moments[place] = low, high
                change = RATE * (low / (1 - 0.9**step)) / (np.sqrt(high / (1 - 0.999**step)) + 1e-6)
                parts[place] = _on_grid(parts[place] - change)
    weights, biases, weights_out, biases_out = parts
    # The network reads logarithms as they are: mean and spread become part of the first layer.
    return _quantised(weights / spread[:, None], biases - (mean / spread) @ weights, weights_out, biases_out)


def _gradients(inputs: Any, wanted: Any, parts: list[Any]) -> list[Any]:
    weights, biases, weights_out, biases_out = parts
    sums = inputs @ weights + biases
    hidden = np.maximum(sums, 0)
    outputs = hidden @ weights_out + biases_out
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    error = (powers / powers.sum(axis=1, keepdims=True) - wanted) / len(inputs)
    back = (error @ weights_out.T) * (sums > 0)
    return [inputs.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


def _on_grid(values: Any) -> Any:
    return np.round(values * GRID) / GRID


def _quantised(weights: Any, biases: Any, weights_out: Any, biases_out: Any) -> dict[str, Any]:
    unit = 2 ** (WEIGHT_BITS + INPUT_BITS)

    def layer(weights: Any, biases: Any) -> dict[str, Any]:
        return {
            "weights": np.round(weights.T * 2**WEIGHT_BITS).astype(int).tolist(),
            "biases": np.round(biases * unit).astype(int).tolist(),
        }

    return {
        "features": list(threat.FEATURES),
        "classes": list(threat.CLASSES),
        "shift": WEIGHT_BITS,
        "unit": unit,
        "hidden": layer(weights, biases),
        "output": layer(weights_out, biases_out),
    }


def confusion(network: dict[str, Any], seed: int = HELD_OUT_SEED, number: int = HELD_OUT_FLOWS) -> Any:
    """Flows by their class (rows) and the class that the network finds (columns)."""
    features, classes = flows(seed, number)
    found, _ = answers(features.astype(np.float64), network)
    table = np.zeros((len(threat.CLASSES),) * 2, int)
    np.add.at(table, (classes, found), 1)
    return table


def as_text(network: dict[str, Any]) -> str:
    """JSON, each innermost list on one line."""
    indented = json.dumps(network, indent=2)
    return re.sub(r"\[([^\[\]]*)\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", indented) + "\n"


if __name__ == "__main__":
    trained = train()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    path.write_text(as_text(trained), encoding="utf-8")
    table = confusion(trained)
    print(f"{path}: {len(threat.FEATURES)} features, {NEURONS} neurons, {len(threat.CLASSES)} classes")
    print(f"held-out flows (seed {HELD_OUT_SEED}): {table.sum():,}, accuracy {table.trace() / table.sum():.4f}")
    for name, row in zip(threat.CLASSES, table.tolist(), strict=True):
        print(f"  {name}: " + ", ".join(f"{n:,} {found}" for n, found in zip(row, threat.CLASSES, strict=True)))
