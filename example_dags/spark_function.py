"""A Python function that runs as the driver of a Spark application.

The function gets its argument from the task before it, and its return value goes to the task after it.
"""

from airflow.sdk import DAG, task

with DAG("spark_function", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:

    @task
    def list_numbers() -> list[int]:
        return list(range(10))

    @task.spark_application(
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
        retries=1,
    )
    def sum_squares(values, spark):
        return spark.sparkContext.parallelize(values, 2).map(lambda value: value * value).sum()

    @task
    def print_total(total: int) -> None:
        print("the sum of the squares is", total)

    print_total(sum_squares(list_numbers()))
