"""What everyone who waits for an application shares: submit, adopt, watch, explain, cancel. No Airflow."""
