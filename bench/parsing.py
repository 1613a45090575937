"""The cost of operators in a DAG file: `python -m bench.parsing [NUMBER]`.

The benchmark imports an operator and creates NUMBER tasks in one DAG. It does so with the operators of this package and
of others, each in a new process that has imported `airflow.sdk`. It prints the smallest processor time and memory of
several runs.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

NUMBER = 500
_RUNS = 7
_PROGRAM = """
import time
from airflow.sdk import DAG, BaseOperator, BaseSensorOperator

DOCUMENT = {{
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {{"pyFiles": "local:///a.py", "runtimeVersions": {{"sparkVersion": "4.3.0"}}}},
}}

def read_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) / 256

memory, begun = read_memory(), time.process_time()
from {module} import {operator}
imported = time.process_time()
with DAG("bench", schedule=None):
    for number in range({number}):
        {operator}(task_id=f"t{{number}}", {parameters})
print(imported - begun, time.process_time() - imported, read_memory() - memory)
"""
_OURS = "airflow_provider_spark_operator.operators.spark_application"
_THEIRS = "airflow.providers.cncf.kubernetes.operators"
_TASKS = {
    "BashOperator": ("airflow.providers.standard.operators.bash", 'bash_command="echo {{ ds }}"'),
    "SparkApplicationOperator, parameters": (
        _OURS,
        'py_file="local:///a.py", arguments=["{{ ds }}"], image="spark:4.3.0", service_account="spark"',
    ),
    "SparkApplicationOperator, manifest": (_OURS, "application=DOCUMENT"),
    "SparkKubernetesOperator, manifest": (f"{_THEIRS}.spark_kubernetes", 'template_spec=DOCUMENT, namespace="default"'),
    "KubernetesPodOperator, parameters": (
        f"{_THEIRS}.pod",
        'image="spark:4.3.0", arguments=["{{ ds }}"], service_account_name="spark", namespace="default"',
    ),
}


def measure(task: str, number: int, environment: dict[str, str]) -> tuple[float, ...]:
    """Return the milliseconds of processor time for the import and for the tasks, and the memory of both in MiB."""
    module, parameters = _TASKS[task]
    program = _PROGRAM.format(module=module, operator=task.partition(",")[0], parameters=parameters, number=number)
    command = [sys.executable, "-c", program]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
        for _ in range(_RUNS)
    ]
    imported, created, memory = (
        min(map(float, each)) for each in zip(*(run.stdout.split() for run in runs), strict=True)
    )
    return 1000 * imported, 1000 * created, memory


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Print the cost of each kind of task, and return the values of the goals."""
    number = int(arguments[0]) if arguments else NUMBER
    # An installed package is compiled. If Python cannot store the compiled files, each run would measure the compiler.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    print(f"{number} tasks in one DAG{'import ms':>35}{'tasks ms':>10}{'MiB':>7}")
    costs = {}
    with tempfile.TemporaryDirectory() as cache:
        for task in _TASKS:
            costs[task] = measure(task, number, environment | {"PYTHONPYCACHEPREFIX": cache})
            print(f"  {task:45}{costs[task][0]:10.0f}{costs[task][1]:10.0f}{costs[task][2]:7.1f}", flush=True)
    (ours_import, ours, memory), pod = (
        costs["SparkApplicationOperator, parameters"],
        costs["KubernetesPodOperator, parameters"],
    )
    spark = costs["SparkKubernetesOperator, manifest"]
    values = {"import of SparkApplicationOperator / of SparkKubernetesOperator, CPU": ours_import / spark[0]}
    for peer, (imported, created, used) in (("KubernetesPodOperator", pod), ("SparkKubernetesOperator", spark)):
        values[f"DAG file with {number} operators / with {peer}, CPU"] = (ours_import + ours) / (imported + created)
        values[f"DAG file with {number} operators / with {peer}, memory"] = memory / used
    return values


if __name__ == "__main__":
    main(sys.argv[1:])
