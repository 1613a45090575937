"""What a SparkCluster consists of: pure functions from the resource to the documents to apply."""
