"""The resources of a SparkCluster: pure functions from the resource to the documents to apply."""
