"""Count words. The script uses a module and a settings file, which are next to it."""

import sys
import tomllib
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession
from words import normalize


def main(day: str) -> None:
    spark = SparkSession.builder.appName(f"word-count-{day}").getOrCreate()
    settings = tomllib.loads(Path(SparkFiles.get("word_count.toml")).read_text())
    lines = spark.sparkContext.parallelize(settings["lines"], 2)
    counts = lines.flatMap(str.split).map(lambda word: (normalize(word), 1)).reduceByKey(int.__add__)
    for word, count in sorted(counts.collect()):
        print(f"{day} {word}: {count}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
