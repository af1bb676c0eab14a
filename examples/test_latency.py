"""A measurement as a test: it fails if the measurement is not valid, an answer is wrong, or the objective is missed.

pytest examples/test_latency.py
"""


def test_ingest_is_fast_enough(streamgauge_run):
    result = streamgauge_run(
        "ospbench/latency",
        engine="spark",
        rate=400,
        warmup="20s",
        duration="20s",
        slo=["latency.p99 < 10s"],
    )
    assert result.latency.p50_ms < result.latency.p99_ms
    assert result.summary.results["lost"] == 0
