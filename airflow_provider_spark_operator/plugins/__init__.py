"""Plugins of Airflow, which Airflow loads from the metadata of the provider."""
