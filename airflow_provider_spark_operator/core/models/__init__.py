"""The resources of `spark.apache.org` as typed models; Kubernetes' own types inside them stay plain dicts."""
