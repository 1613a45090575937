"""Links from a task's page in Airflow to where its Spark application shows itself."""
