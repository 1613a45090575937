"""Apache Spark on Kubernetes for Apache Airflow: provider, lifecycle core, controller and local cluster."""

__version__ = "0.1.0"
