"""Airflow triggers: what waits for Spark while no worker is held."""
