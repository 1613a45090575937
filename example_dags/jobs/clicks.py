"""Write a stream of rows as files, until the application is asked to stop."""

import sys

from pyspark.sql import SparkSession
from spark_task import report

if __name__ == "__main__":
    output, checkpoint = sys.argv[1:]
    spark = SparkSession.builder.appName("clicks").getOrCreate()
    clicks = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    writer = clicks.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    report.run(writer.queryName("clicks").trigger(processingTime="2 seconds").start(output))
