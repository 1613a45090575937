"""Conversion of the resources of Kubeflow's operator into resources of `spark.apache.org`, with a report per field."""
