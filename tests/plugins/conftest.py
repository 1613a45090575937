from airflow_provider_spark_operator.airflow_compat import VERSION

# The state of assets needs Airflow 3.3.
collect_ignore = [] if VERSION >= (3, 3) else ["test_asset_events.py"]
