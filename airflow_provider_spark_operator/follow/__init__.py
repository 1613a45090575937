"""Submit, adopt, watch, explain and cancel applications: shared by every client that waits for one, without Airflow."""
