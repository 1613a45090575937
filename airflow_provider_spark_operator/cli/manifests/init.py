"""`spark-operator init`: print or write a starter manifest or a starter DAG."""

import json
from pathlib import Path
from typing import Annotated, Final

from ...core.driver.configuration.uris import is_local
from ...kube.yaml_writer import quote
from ..base.errors import CommandError, print_note
from ..base.exit_codes import ExitCode
from ..base.object_names import derive_name, require_new_name
from ..options.declaration import Parameter
from ..options.options import require_text

_NAME = "pi"


def run(
    file: Annotated[
        str | None, Parameter("FILE", "new file; without it, the text is printed", check=require_text)
    ] = None,
    name: Annotated[
        str | None,
        Parameter(
            "--name NAME",
            "name of the application, or of the task (default: pi, or the name of the script)",
            check=require_new_name,
        ),
    ] = None,
    dag: Annotated[bool, Parameter("--dag", "a DAG for Airflow instead of a manifest")] = False,
    py_file: Annotated[
        str | None,
        Parameter(
            "--py-file FILE",
            "with --dag: the Python script to run, a local file or a URI (default: an example of Spark)",
            check=require_text,
        ),
    ] = None,
    kubeflow: Annotated[bool, Parameter("--kubeflow", "for Kubeflow's operator")] = False,
) -> ExitCode:
    """Print or write a starter manifest, or a starter DAG, with comments.

    The manifest is valid and computes Pi. The DAG runs the same program, or the script of --py-file. To run a script
    without a manifest, use `spark-operator submit SCRIPT`. An existing file is not overwritten.

    Examples:
        # Write a manifest, check it and run it
        spark-operator init pi.yaml
        spark-operator validate pi.yaml
        spark-operator submit pi.yaml

        # Write a manifest for Kubeflow's operator
        spark-operator init pi.yaml --kubeflow

        # Write a DAG for Airflow
        spark-operator init --dag dags/spark_pi.py

        # Write a DAG next to a script that it runs
        spark-operator init --dag report_dag.py --py-file report.py
    """
    if py_file is not None and not dag:
        raise CommandError(
            "--py-file: requires --dag. To run a script without a DAG, use `spark-operator submit`", ExitCode.INVALID
        )
    text = _build(name or (derive_name(py_file) if py_file else _NAME), is_dag=dag, kubeflow=kubeflow)
    if py_file is not None:
        text = _set_program(text, py_file, Path(file).parent if file else Path(), kubeflow=kubeflow)
    if file is None:
        print(text, end="")
        return ExitCode.SUCCESS
    try:
        with Path(file).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise CommandError(f"could not write {file}: it exists. Choose another name", ExitCode.INVALID) from None
    except OSError as error:
        raise CommandError(f"could not write {file}: {error.strerror}", ExitCode.INVALID) from None
    print_note(f"wrote {file}")
    return ExitCode.SUCCESS


def _build(name: str, *, is_dag: bool, kubeflow: bool) -> str:
    if is_dag:
        text = KUBEFLOW_DAG if kubeflow else DAG
        return text.replace("DAG_ID", f"spark_{name.replace('-', '_')}").replace('task_id="pi"', f'task_id="{name}"')
    return (KUBEFLOW if kubeflow else APACHE).replace("NAME", quote(name))


def _set_program(dag: str, program: str, folder: Path, *, kubeflow: bool) -> str:
    """Return a starter DAG with another program.

    Args:
        dag: The starter DAG.
        program: The path or the URI of a Python script.
        folder: The folder of the DAG. A script below it is named by its relative path, as the operator looks for it.
        kubeflow: Whether the DAG is for Kubeflow's operator.

    Raises:
        CommandError: The local file does not exist, or the operator cannot ship it.
    """
    if not is_local(program):
        return set_program(dag, program, is_shipped=False)
    path = Path(program.removeprefix("file://")).absolute()
    if not path.is_file():
        raise CommandError(f"--py-file: {program} does not exist", ExitCode.INVALID)
    if kubeflow:
        message = "applications of Kubeflow's operator cannot contain a file. Give a URI, for example s3a://jobs/a.py"
        raise CommandError(f"--py-file {program}: {message}", ExitCode.INVALID)
    base = folder.absolute()
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    return set_program(dag, str(shown), is_shipped=True)


APACHE: Final = """\
# A SparkApplication of spark.apache.org.
#   spark-operator validate FILE    checks it without a cluster
#   spark-operator submit FILE      runs it
#   spark-operator explain sparkapp.spec    explains all fields
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata:
  name: NAME
spec:
  # The program, a Python script. For a JVM program, set jars and mainClass instead. local:// is a file in the image.
  pyFiles: local:///opt/spark/examples/src/main/python/pi.py
  driverArgs: ["10"]

  # The version of Spark in the image.
  runtimeVersions:
    sparkVersion: "4.3.0"

  # Properties of Spark. All values are strings.
  sparkConf:
    spark.kubernetes.container.image: "spark:4.3.0"
    # The service account of the driver. It needs the permission to create pods.
    spark.kubernetes.authenticate.driver.serviceAccountName: "spark"
    spark.driver.memory: "1g"
    spark.executor.instances: "2"
    spark.executor.cores: "1"
    spark.executor.memory: "1g"
    # The name in Spark's interface, and the beginning of the names of executors, unless the program sets another one.
    spark.app.name: NAME

  applicationTolerations:
    # Never, OnFailure, OnInfrastructureFailure or Always. In Airflow, leave restarts to the retries of the task.
    restartConfig:
      restartPolicy: Never
    # Keep the driver pod of a failed application for 10 minutes, so that its log can be read.
    resourceRetainPolicy: OnFailure
    resourceRetainDurationMillis: 600000
    # Delete the application 7 days after its end.
    ttlAfterStopMillis: 604800000
"""

KUBEFLOW: Final = """\
# A SparkApplication of Kubeflow's operator.
#   spark-operator validate FILE    checks it without a cluster
#   spark-operator submit FILE      runs it
#   spark-operator explain sparkapp.spec --kubeflow    lists all fields
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  name: NAME
spec:
  # Python, Java, Scala or R. For Java and Scala, also set mainClass.
  type: Python
  # The program. local:// is a file in the image.
  mainApplicationFile: local:///opt/spark/examples/src/main/python/pi.py
  arguments: ["10"]
  mode: cluster

  image: spark:4.3.0
  sparkVersion: "4.3.0"

  driver:
    cores: 1
    memory: 1g
    # It needs the permission to create pods.
    serviceAccount: spark
  executor:
    instances: 2
    cores: 1
    memory: 1g

  # Never, OnFailure or Always. In Airflow, leave restarts to the retries of the task.
  restartPolicy:
    type: Never
  # Delete the application 7 days after its end.
  timeToLiveSeconds: 604800
"""

_EXAMPLE: Final = """\
        # The program. local:// is a file in the image; a file next to this DAG is shipped: py_file="pi.py".
        py_file="local:///opt/spark/examples/src/main/python/pi.py",
        arguments=["10"],
"""

DAG: Final = f'''\
"""Run a Spark application each day.

The operator is part of the package airflow-provider-spark-operator. The connection `kubernetes_default` selects the
cluster.
"""

from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("DAG_ID", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False) as dag:
    SparkApplicationOperator(
        task_id="pi",
{_EXAMPLE}        image="spark:4.3.0",
        # It needs the permission to create pods.
        service_account="spark",
        executor_instances=2,
        executor_cores=1,
        executor_memory="1g",
        driver_memory="1g",
        # Wait in the triggerer, without a worker.
        deferrable=True,
        # A retry runs a new application.
        retries=2,
        retry_delay=timedelta(minutes=5),
    )
'''

_API_VERSION: Final = """\
        # Kubeflow's operator runs the application.
        api_version="sparkoperator.k8s.io/v1beta2",
"""

KUBEFLOW_DAG: Final = DAG.replace("        image=", f"{_API_VERSION}        image=")


def set_program(dag: str, program: str, *, is_shipped: bool) -> str:
    """Return a starter DAG with another program.

    Args:
        dag: The starter DAG.
        program: The path or the URI of a Python script.
        is_shipped: Whether the operator ships the script to the driver.
    """
    comment = "        # The program: the operator ships this file to the driver.\n" if is_shipped else ""
    return dag.replace(_EXAMPLE, f"{comment}        py_file={json.dumps(program, ensure_ascii=False)},\n")
