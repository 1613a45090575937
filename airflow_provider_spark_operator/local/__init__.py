"""The local cluster for Spark: local-kubernetes with a runtime that runs Spark images as processes of this machine."""
