"""Airflow triggers, which wait for Spark resources in the triggerer."""
