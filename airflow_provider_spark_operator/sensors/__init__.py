"""Airflow sensors for the resources of the Spark Kubernetes Operator."""
