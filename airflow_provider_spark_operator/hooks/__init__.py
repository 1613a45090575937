"""Translate Airflow connections into configurations of the Kubernetes client."""
