"""Airflow operators for the resources of the Spark Kubernetes Operator."""
