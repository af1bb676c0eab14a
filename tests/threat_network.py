"""The network of threat/classify in plain Python, as docs/reference/workloads-threat.md defines it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

HAND_WORKED: dict[str, Any] = {
    "features": ["a", "b"],
    "classes": ["left", "right"],
    "shift": 8,
    "unit": 1024,
    "hidden": {"weights": [[256, -256], [-512, 128]], "biases": [100, -51]},
    "output": {"weights": [[2, -1], [1, 3]], "biases": [0, 700]},
}
"""For ``6,2,label``, u = 7 and 3: 7 = 4 × 1.75 and 3 = 2 × 1.5.

z = 256 × 2 + 192 = 704 and 256 + 128 = 384
h = (256 × 704 − 256 × 384 + 100) >> 8 = 82,020 >> 8 = 320; the second sum is below 0, so 0
o = 2 × 320 = 640 and 320 + 700 = 1,020
"""
HAND_WORKED_SCORE = 1 / (1 + math.exp(-380 / 1024))

EXTREMES = (
    ",".join(["0"] * 12 + ["normal"]),
    ",".join(["999999999999999"] * 12 + ["x"]),
    *(",".join([str(n)] * 12 + ["dos"]) for e in range(49) for n in (2**e - 2, 2**e - 1, 2**e) if n >= 0),
    *(",".join(["0"] * place + ["999999999999999"] + ["0"] * (11 - place) + ["a label"]) for place in range(12)),
    "0007" + ",06" * 11 + ',"',
)
"""Every feature at its least and its greatest, around powers of two, and with leading zeros."""


def classify(value: str, network: Mapping[str, Any]) -> tuple[str, float]:
    """Class and score of a record."""
    fields = [int(text) + 1 for text in value.split(",")[: len(network["features"])]]
    inputs = [256 * (u.bit_length() - 1) + (u << 8 >> u.bit_length() - 1) - 256 for u in fields]
    hidden = [max(total, 0) >> network["shift"] for total in _sums(network["hidden"], inputs)]
    outputs = _sums(network["output"], hidden)
    best = max(outputs)
    score = 1 / math.fsum(math.exp((one - best) / network["unit"]) for one in outputs)
    return network["classes"][outputs.index(best)], score


def _sums(layer: Mapping[str, Any], inputs: list[int]) -> list[int]:
    return [
        bias + sum(weight * one for weight, one in zip(weights, inputs, strict=True))
        for weights, bias in zip(layer["weights"], layer["biases"], strict=True)
    ]
