"""Passes on large orders: reads the topic `orders`, filters, writes to the topic `large-orders`."""

import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

BROKERS = os.environ.get("ORDERS_BROKERS", "kafka.shop.example:9092")

spark = SparkSession.builder.appName("large-orders").getOrCreate()

orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "orders")
    .load()
    .select(f.from_json(f.col("value").cast("string"), "order_id long, price double, country string").alias("order"))
)

query = (
    orders.where("order.price >= 100")
    .select(f.col("order.order_id").cast("string").alias("key"), f.to_json("order").alias("value"))
    .writeStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "large-orders")
    .option("checkpointLocation", "/var/lib/large-orders/checkpoint")
    .queryName("large-orders")
    .start()
)
query.awaitTermination()
