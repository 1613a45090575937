"""The cost of operators in a DAG file: `python -m bench.parsing [NUMBER]`.

The benchmark creates NUMBER tasks in one DAG, with Airflow's BashOperator and with SparkApplicationOperator, each in a
new process. The imports are done before the measurement. It prints the smallest processor time of several runs, and the
ratio to BashOperator. `bench.deferral` measures the imports.
"""

import subprocess
import sys

NUMBER = 200
_RUNS = 7
_PROGRAM = """
import time
from datetime import timedelta
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.parameters import DynamicAllocation, RestartPolicy, Secret, Volume

DOCUMENT = {{
    "apiVersion": "spark.apache.org/v1",
    "spec": {{"pyFiles": "local:///a.py", "runtimeVersions": {{"sparkVersion": "4.3.0"}}}},
}}

def create(number):
    {create}

create(-1)
begun = time.process_time()
with DAG("bench", schedule=None):
    for number in range({number}):
        create(number)
print(time.process_time() - begun)
"""
_PROGRAM_OF_TASK = 'py_file="local:///a.py", arguments=["{{ ds }}"], image="spark:4.3.0", service_account="spark"'
_TASKS = {
    "BashOperator": 'BashOperator(task_id=f"t{number}", bash_command="echo {{ ds }}")',
    "application from parameters": f'SparkApplicationOperator(task_id=f"t{{number}}", {_PROGRAM_OF_TASK})',
    "application from a manifest": 'SparkApplicationOperator(task_id=f"t{number}", application=DOCUMENT)',
    "application with pod parameters": (
        f'SparkApplicationOperator(task_id=f"t{{number}}", {_PROGRAM_OF_TASK}, labels={{"team": "data"}}, '
        'env_vars={"REGION": "eu"}, secrets=[Secret("database", env={"DB_PASSWORD": "password"})], '
        'volumes=[Volume("data", "/data", claim="data")], node_selector={"pool": "spark"}, '
        'dynamic_allocation=DynamicAllocation(max=20), restart_policy=RestartPolicy("OnFailure"))'
    ),
    "application of Kubeflow's operator": (
        f'SparkApplicationOperator(task_id=f"t{{number}}", {_PROGRAM_OF_TASK}, '
        'api_version="sparkoperator.k8s.io/v1beta2")'
    ),
}


def measure(create: str, number: int) -> float:
    """Return the seconds of processor time that the creation of tasks needs, at best.

    Args:
        create: The expression that creates the task `number`.
        number: Number of tasks.
    """
    program = _PROGRAM.format(create=create, number=number)
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
        for _ in range(_RUNS)
    ]
    return min(float(run.stdout.splitlines()[-1]) for run in runs)


def main(number: int) -> None:
    """Print the cost of each kind of task."""
    print(f"{number} tasks in one DAG")
    base = 0.0
    for name, create in _TASKS.items():
        seconds = measure(create, number)
        base = base or seconds
        print(f"  {name:36} {1000 * seconds:7.1f} ms  {seconds / base:5.2f} times BashOperator")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER)
