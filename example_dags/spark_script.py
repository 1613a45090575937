"""A Python script next to the DAG, with a module and a settings file. The task ships all three to the driver."""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("spark_script", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="count_words",
        py_file="jobs/word_count.py",
        py_files=["jobs/words.py"],
        files=["jobs/word_count.toml"],
        arguments=["{{ run_id }}"],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
        retries=1,
    )
