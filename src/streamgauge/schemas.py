"""What the readers of each stored file rely on. Files may hold more (docs/reference); older runs lack some keys."""

from __future__ import annotations

from streamgauge.stored import Exact, MapOf, OneOf, OrNull, Within

_NUMBER = OrNull(float)
_COUNT = Within(int, 0)
_SECONDS = Within(float, 0, 1e7)
_RATE = Within(int, 0, 1e9)
_VERDICT = OneOf("VALID", "INVALID", "FAILED")

CALIBRATION = {
    "scenario": str,
    "at": str,
    "floor_ms": {"total": {"p50": _NUMBER}, "latest": {"p50": _NUMBER}},
    "ceiling_per_s": float,
}

LOAD = Exact(
    {
        "rate_per_s": Within(int, 0, 1e9),
        "warmup_s": _SECONDS,
        "measured_s": _SECONDS,
        "tail_s": _SECONDS,
        "shape?": OneOf(
            *("constant", "steps", "ramp", "single-burst", "periodic-burst", "fluctuating", "unlimited", "preloaded"),
        ),
        "arrivals?": OneOf("even", "poisson"),
        "steps_per_s?": [_RATE],
        "to_per_s?": _RATE,
        "burst_records?": _RATE,
        "burst_s?": _SECONDS,
        "burst_every_s?": _SECONDS,
        "rising_warmup?": bool,
        "preloaded?": Within(int, 0, 1e10),
        "poisson_blocks?": OneOf("drawn", "fixed"),
        "seed?": _COUNT,
    }
)
MANIFEST = {
    "run": str,
    "scenario": {
        "study": str,
        "name": str,
        "profile": str,
        "stage": str,
        "workload?": str,
        "pipeline?": str,
        "load": LOAD,
        "sustained": OrNull(str),
        "parameters?": MapOf(object),
        "slo?": [str],
        "faults?": [{"verb": str, "role": str}],
        "job?": OrNull({"path": str, "sha256": str}),
    },
    "engine": {
        "name": str,
        "version": str,
        "delivery": OneOf("exactly-once", "at-least-once", "at-most-once"),
        "options": MapOf(object),
        "transactional?": bool,
        "batch_interval_s?": _SECONDS,
        "micro_batches?": bool,
    },
    "transport": {"name": str, "own": bool},
    "streams": [Exact({"name": str, "topic": str, "partitions": Within(int, 1), "role": OneOf("input", "output")})],
    "machine?": {"cores?": OrNull(float)},
    "processes?": [{"role": str, "group": str}],
    "shared_cores?": bool,
    "calibration?": OrNull(CALIBRATION),
    "environment?": {"removed?": [str]},
    "provenance?": {"date?": str, "git?": OrNull({"commit": str, "dirty": bool}), "packages?": MapOf(str)},
    "program?": [str],
    "evaluator?": {"master": str},
    "command": str,
}
_FIGURES = {f"{name}?": _NUMBER for name in ("count", "p50", "p90", "p99", "p999", "max", "mean")}
SUMMARY = {
    "run": str,
    "engine": {"name": str, "version": str},
    "job?": OrNull({"name": str, "sha256": str}),
    "verdict": _VERDICT,
    "validated?": bool,
    "state": OrNull(OneOf("steady", "drifting", "overloaded")),
    "sustained": OrNull(bool),
    "reasons": [str],
    "warnings": [str],
    "results": MapOf(_NUMBER),
    "latency_ms": {f"{kind}?": OrNull(_FIGURES) for kind in ("total", "latest", "average", "generator_share")},
    "rate_per_s": {"offered": _NUMBER, "achieved": _NUMBER, "worst_second?": _NUMBER, "output": _NUMBER},
    "generator": OrNull(
        {
            **{f"{name}?": _NUMBER for name in ("late_p50_ms", "late_p99_ms", "late_max_ms", "errors")},
            **{f"{name}?": OrNull(Within(float, 0)) for name in ("late_p99_limit_ms", "late_max_limit_ms")},
        }
    ),
    "backlog": OrNull({"end": _NUMBER, "slope_per_s": _NUMBER, "slope_ci?": OrNull([object, object])}),
    "trend?": {"total_ms_per_s?": _NUMBER, "total_ci?": OrNull([object, object])},
    "burst?": OrNull(MapOf(object)),
    "clock?": {"step_max_ms?": _NUMBER, "broker_offset_ms?": OrNull([object, object])},
    "resources?": MapOf(MapOf(_NUMBER)),
    "repetitions?": [MapOf(object)],
    "slo": [MapOf(object)],
    "faults?": [MapOf(object)],
}

CAPACITY = {
    "scenario": str,
    "engine": str,
    "rule": OrNull(str),
    "slo": [str],
    "resolution": float,
    "over": str,
    "harder?": OneOf("more", "less"),
    "unit": str,
    "outcome": OrNull(str),
    "interval": [_NUMBER, _NUMBER],
    "confirmed": bool,
    "note": str,
    "best_latency_ms": OrNull({"p50": _NUMBER, "p99": _NUMBER}),
    "guess": OrNull(Within(int, 1)),
    "probes": [
        {
            "value": Within(int, 1),
            "purpose": str,
            "verdict": str,
            "reason": str,
            "weak": bool,
            "seconds": float,
            "seconds_saved": float,
            "directory": str,
            "total_p50": _NUMBER,
            "total_p99": _NUMBER,
        }
    ],
    "seconds": float,
    "seconds_saved": float,
    "settings": MapOf(object),
}
REPRODUCTION = {
    "study": str,
    "title": str,
    "profile": str,
    "state": OneOf("unfinished", "finished"),
    "seconds?": _NUMBER,
    "machine?": MapOf(object),
    "experiments": [
        {
            "name": str,
            "scenario": str,
            "dimensions?": MapOf(str),
            "stage?": str,
            "variant?": str,
            "settings?": MapOf(str),
            "faults?": [str],
            "purpose": OneOf("run", "capacity"),
            "engine": str,
            "runs?": Within(int, 1),
            "state": OneOf("pending", "done", "not run"),
            "reason": str,
            "attempts": [
                {
                    "directory": str,
                    "verdict": _VERDICT,
                    "reasons": [str],
                    "run?": Within(int, 1),
                    "p50_ms?": MapOf(_NUMBER),
                }
            ],
            "verdict?": OrNull(_VERDICT),
            "directory": OrNull(str),
            "summary": OrNull({f"{key.removesuffix('?')}?": value for key, value in SUMMARY.items()}),
            "capacity": OrNull(CAPACITY),
        }
    ],
}
RESUMED_REPRODUCTION = {**REPRODUCTION, "settings": MapOf(object)}
