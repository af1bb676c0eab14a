"""The baseline of built_in.py: the same queries as an ordinary PySpark script, without streamgauge.

    python bench/plain_spark.py SETTINGS.json

SETTINGS has stage, bootstrap, flow, speed, output (topics), checkpoint, conf, jars, heap_mb and cores.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

MESSAGE = (
    "n_seq bigint, id string, lane string, lanes int, timestamp string, flow int, speed int, "
    "period int, accuracy int, lat_e6 int, lon_e6 int"
)
FLOW = "timestamp string, id string, lane string, lanes int, flow int"
SPEED = "timestamp string, id string, lane string, speed int"


def main(settings):
    builder = SparkSession.builder.master(f"local[{settings['cores']}]")
    # The builder starts the driver's JVM, so heap and garbage collector must be set here.
    builder = builder.config("spark.driver.memory", f"{settings['heap_mb']}m")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:+UseG1GC")
    builder = builder.config("spark.driver.extraClassPath", ":".join(settings["jars"]))
    for name, value in settings["conf"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()

    def topic(*names):
        return (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", settings["bootstrap"])
            .option("subscribe", ",".join(settings[name] for name in names))
            .option("startingOffsets", "earliest")
            .load()
        )

    def messages(name, fields):
        message = f.from_json(f.col("value").cast("string"), fields).alias("m")
        rows = topic(name).select(f.col("timestamp").alias("appended"), message).select("appended", "m.*")
        return rows.withWatermark("appended", "500 milliseconds").alias(name)

    if settings["stage"] == "parse":
        fields = f.from_json(f.col("value").cast("string"), MESSAGE)
        results = topic("flow", "speed").select("key", f.to_json(fields).alias("value"))
    else:
        pair = f.expr(
            "flow.timestamp = speed.timestamp and flow.id = speed.id and flow.lane = speed.lane"
            " and flow.appended <= speed.appended + interval 1 second"
            " and speed.appended <= flow.appended + interval 1 second"
        )
        joined = messages("flow", FLOW).join(messages("speed", SPEED), pair).select("flow.*", "speed.speed")
        sums = joined.groupBy(f.window("appended", "1 second"), "id").agg(
            f.sum("flow").alias("flow"), f.sum("speed").alias("speeds"), f.count("*").alias("n")
        )
        row = f.struct(
            "id", f.unix_millis("window.end").alias("window_end_ms"), "flow", f.expr("speeds / n").alias("speed"), "n"
        )
        results = sums.select(f.col("id").alias("key"), f.to_json(row).alias("value"))

    query = (
        results.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["bootstrap"])
        .option("topic", settings["output"])
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(processingTime="0 seconds")
        .outputMode("append")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
