"""Apache Spark on Kubernetes for Apache Airflow: provider, lifecycle core, controller and local cluster."""

__version__ = "0.9.0rc1"
