"""Read what tasks recorded from the public REST API of an Airflow server."""
