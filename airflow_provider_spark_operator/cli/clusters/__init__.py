"""The verbs of SparkClusters."""
