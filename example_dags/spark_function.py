"""A Python function as the driver: its arguments come from a task before, its value goes to a task after."""

from airflow.sdk import DAG, task

with DAG("spark_function", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:

    @task
    def numbers() -> list[int]:
        return list(range(10))

    @task.spark_application(
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
    )
    def sum_of_squares(values, spark):
        return spark.sparkContext.parallelize(values, 2).map(lambda value: value * value).sum()

    @task
    def show(total: int) -> None:
        print("the sum of the squares is", total)

    show(sum_of_squares(numbers()))
