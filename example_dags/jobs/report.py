"""Count rows by weekday, for the table that the first argument names. A real job would read the table."""

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.appName(f"report-{sys.argv[1]}").getOrCreate()
    rows = spark.range(1000).selectExpr("id % 7 AS weekday").groupBy("weekday").count()
    for row in rows.orderBy("weekday").collect():
        print(f"{sys.argv[1]}: weekday {row['weekday']} has {row['count']} rows")
    spark.stop()
