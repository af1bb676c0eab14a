"""Shared by studies of one pipeline in stages: an experiment for each stage and variant of its program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from streamgauge.study import Experiment, Purpose

STAGE, VARIANT = "stage", "variant"

Variant = Literal["built-in", "customised", "real-time"]
"""How a stage is implemented. Real-time is Spark's mode without micro-batches, which is in no published study."""

VARIANTS: Mapping[Variant, Mapping[str, str]] = {
    "built-in": {},
    "customised": {"implementation": "customised"},
    "real-time": {"realtime": "true"},
}
"""The settings of each variant. An engine without the option does not have the variant."""
VARIANT_SETTINGS = tuple(key for settings in VARIANTS.values() for key in settings)


def dimensions(stage: str, variant: Variant = "built-in") -> dict[str, str]:
    return {STAGE: stage, VARIANT: variant}


def experiment(scenario: str, stage: str, variant: Variant = "built-in", purpose: Purpose = "run") -> Experiment:
    return Experiment(
        scenario,
        f"{scenario.partition('/')[2]}-{stage}-{variant}",
        settings={STAGE: stage, **VARIANTS[variant]},
        dimensions=dimensions(stage, variant),
        purpose=purpose,
    )
