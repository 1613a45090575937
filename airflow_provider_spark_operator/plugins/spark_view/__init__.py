"""The Spark view in Airflow's user interface: static pages, which read what tasks recorded from Airflow's REST API."""
