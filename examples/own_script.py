"""Your own query: the cars that passed each measurement point, second by second.

streamgauge run ospbench/latency --script examples/own_script.py
"""

from pyspark.sql import functions as f

from streamgauge.script import behind

settles_s = 3  # a window of 1 s, a watermark of 1 s, and 1 s to spare


def build(spark, source):
    """Runs in the engine. `source` has stream, key, value (strings) and timestamp (append time)."""
    flow = source.where("stream = 'flow'").select("timestamp", f.from_json("value", "id string, flow int").alias("m"))
    return (
        flow.withWatermark("timestamp", "1 second")
        .groupBy("m.id", f.window("timestamp", "1 second"))
        .agg(f.sum("m.flow").alias("cars"), f.count("*").alias("n"))
        .select("id", f.unix_millis("window.end").alias("window_end_ms"), "cars", "n")
    )


key = ["id", "window_end_ms"]  # the columns that identify a row of the answer


def reference(inputs):
    """The correct answer, computed independently from the recorded input. Runs in the evaluator, after the run."""
    second_end_ms = f.expr("(appended_ms div 1000 + 1) * 1000")
    return (
        inputs["flow"]
        .withColumns({"id": f.get_json_object("value", "$.id"), "window_end_ms": second_end_ms})
        .groupBy("id", "window_end_ms")
        .agg(
            f.sum(f.get_json_object("value", "$.flow").cast("int")).alias("cars"),
            f.count("*").alias("n"),
            *behind(),
        )
    )
