"""The demo: an Airflow DAG runs real Spark on an embedded cluster, and the terminal shows each step."""
