"""The main job end to end: an Airflow DAG runs real Spark on an embedded cluster, and says what happens."""
