package org.apache.spark.examples;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** The class that documents of the Apache operator run, of which PyPI's Spark has the source in Python only. */
public final class SparkPi {
  public static void main(String[] arguments) {
    SparkSession session = SparkSession.builder().getOrCreate();
    int slices = 2;
    int points = 100_000 * slices;
    JavaSparkContext context = new JavaSparkContext(session.sparkContext());
    long inside =
        context
            .parallelize(IntStream.range(0, points).boxed().collect(Collectors.toList()), slices)
            .filter(
                point -> {
                  double x = Math.random() * 2 - 1;
                  double y = Math.random() * 2 - 1;
                  return x * x + y * y <= 1;
                })
            .count();
    System.out.println("Pi is roughly " + 4.0 * inside / points);
    session.stop();
  }
}
