"""`spark-operator init`: print or write a starter manifest or a starter DAG."""

from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_spark_operator.cli import starters
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.object_names import require_object_name
from airflow_provider_spark_operator.cli.options import require_text

EXAMPLES = """
# Write a manifest, check it and run it
spark-operator init pi.yaml
spark-operator validate pi.yaml
spark-operator submit pi.yaml

# Write a manifest for Kubeflow's operator
spark-operator init pi.yaml --kubeflow

# Write a DAG for Airflow
spark-operator init --dag dags/spark_pi.py
"""

_NAME = "pi"


def run(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            callback=require_text,
            help="new file; without it, the text is printed",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option("--name", metavar="NAME", callback=require_object_name, help="name of the application"),
    ] = _NAME,
    dag: Annotated[bool, typer.Option("--dag", help="a DAG for Airflow instead of a manifest")] = False,
    kubeflow: Annotated[bool, typer.Option("--kubeflow", help="for Kubeflow's operator")] = False,
) -> ExitCode:
    """Print or write a starter manifest, or a starter DAG, with comments.

    The manifest is valid and computes Pi. An existing file is not overwritten.
    """
    text = _build(name, is_dag=dag, kubeflow=kubeflow)
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
        text = starters.KUBEFLOW_DAG if kubeflow else starters.DAG
        return text.replace("DAG_ID", f"spark_{name.replace('-', '_')}").replace('task_id="pi"', f'task_id="{name}"')
    return (starters.KUBEFLOW if kubeflow else starters.APACHE).replace("NAME", name, 1)
