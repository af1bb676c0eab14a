"""Revenue by country and ten seconds, in event time: reads the topic `orders`, writes Parquet."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

spark = SparkSession.builder.appName("revenue").config("spark.sql.shuffle.partitions", 2).getOrCreate()

orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "kafka.shop.example:9092")
    .option("subscribe", "orders")
    .load()
    .select(f.from_json(f.col("value").cast("string"), "ordered_at timestamp, price double, country string").alias("o"))
    .select("o.*")
)

revenue = (
    orders.withWatermark("ordered_at", "5 seconds")
    .groupBy(f.window("ordered_at", "10 seconds"), "country")
    .agg(f.sum("price").alias("revenue"), f.count("*").alias("orders"))
)

query = (
    revenue.writeStream.format("parquet")
    .outputMode("append")
    .option("path", sys.argv[1] if len(sys.argv) > 1 else "/data/revenue")
    .option("checkpointLocation", "/data/revenue-checkpoint")
    .queryName("revenue")
    .start()
)
query.awaitTermination()
