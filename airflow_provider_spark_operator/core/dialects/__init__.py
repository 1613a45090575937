"""The kinds of SparkApplications: how to read and write each of them."""
