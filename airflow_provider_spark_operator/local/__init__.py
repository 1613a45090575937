"""The local cluster for Spark: local-kubernetes, a runtime that runs Spark images as processes, and the controller."""
