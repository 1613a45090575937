"""Airflow connections, read into configurations of the Kubernetes client."""
