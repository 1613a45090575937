"""Count rows, and report the number, a check and the progress to Airflow."""

import sys

from pyspark.sql import SparkSession
from spark_task import report

if __name__ == "__main__":
    spark = SparkSession.builder.appName("quality").getOrCreate()
    orders = spark.range(int(sys.argv[1])).withColumnRenamed("id", "order")
    report.progress(0.5)
    rows = orders.count()
    report.metadata(rows=rows, table="orders")
    report.check("not_empty", passed=rows > 0, detail=f"{rows} rows")
    report.progress(1)
    spark.stop()
