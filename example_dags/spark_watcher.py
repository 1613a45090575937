"""A DAG that starts when an application ends, from any client.

The watcher fires for each application of the namespace whose name begins with `ingest-` and that succeeds. The DAG then
reads the names of these applications, and runs a report.
"""

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger

INGESTED = Asset(
    "spark_ingested",
    watchers=[
        AssetWatcher(
            name="ingest",
            trigger=SparkApplicationEventTrigger(
                name_pattern="ingest-*", outcomes=["succeeded"], kubernetes_conn_id="kubernetes_default"
            ),
        )
    ],
)

with DAG("spark_watcher", schedule=[INGESTED], catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:

    @task
    def list_applications(*, triggering_asset_events):
        events = triggering_asset_events.get(INGESTED, [])
        return [event.extra["payload"]["name"] for event in events]

    report = SparkApplicationOperator(
        task_id="report",
        py_file="jobs/report.py",
        arguments=["orders"],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
    )
    list_applications() >> report
