# pytest may load this module before the plugin has created a separate Airflow home, so it must not import Airflow.
from airflow_provider_spark_operator.airflow_version import INSTALLED, parse_version

# The state of assets needs Airflow 3.3.
collect_ignore = [] if parse_version(INSTALLED) >= parse_version("3.3") else ["test_asset_events.py"]
