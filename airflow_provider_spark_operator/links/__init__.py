"""Links from a task page in Airflow to the web pages of its Spark application."""
