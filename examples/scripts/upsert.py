"""Keeps the latest order of each customer in SQLite, and counts orders on the console: two queries."""

import os
import sqlite3

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

DATABASE = os.environ.get("ORDERS_DATABASE", "orders.db")

spark = SparkSession.builder.appName("upsert").getOrCreate()

orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "kafka.shop.example:9092")
    .option("subscribe", "orders")
    .option("startingOffsets", "earliest")
    .load()
    .select(f.from_json(f.col("value").cast("string"), "order_id long, customer string, price double").alias("o"))
    .select("o.*")
)


def upsert(batch, batch_id):
    rows = batch.groupBy("customer").agg(f.max_by("price", "order_id").alias("price")).collect()
    with sqlite3.connect(DATABASE) as database:
        database.execute("create table if not exists latest (customer text primary key, price real)")
        database.executemany(
            "insert into latest values (?, ?) on conflict (customer) do update set price = excluded.price",
            [(row.customer, row.price) for row in rows],
        )


latest = (
    orders.writeStream.foreachBatch(upsert)
    .option("checkpointLocation", "/var/lib/upsert/latest")
    .queryName("latest")
    .start()
)
total = (
    orders.groupBy()
    .count()
    .writeStream.format("console")
    .outputMode("complete")
    .option("checkpointLocation", "/var/lib/upsert/total")
    .queryName("total")
    .start()
)
spark.streams.awaitAnyTermination()
