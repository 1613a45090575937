"""`spark-operator init`: print or write a starter manifest or a starter DAG."""

from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_spark_operator.cli import starters
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.object_names import derive_name, require_object_name
from airflow_provider_spark_operator.cli.options import require_text
from airflow_provider_spark_operator.core.driver.uris import is_local
from airflow_provider_spark_operator.kube.yaml_text import quote

EXAMPLES = """
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
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            callback=require_object_name,
            help="name of the application, or of the task (default: pi, or the name of the script)",
        ),
    ] = None,
    dag: Annotated[bool, typer.Option("--dag", help="a DAG for Airflow instead of a manifest")] = False,
    py_file: Annotated[
        str | None,
        typer.Option(
            "--py-file",
            metavar="FILE",
            callback=require_text,
            help="with --dag: the Python script to run, a local file or a URI (default: an example of Spark)",
        ),
    ] = None,
    kubeflow: Annotated[bool, typer.Option("--kubeflow", help="for Kubeflow's operator")] = False,
) -> ExitCode:
    """Print or write a starter manifest, or a starter DAG, with comments.

    The manifest is valid and computes Pi. The DAG runs the same program, or the script of --py-file. To run a script
    without a manifest, use `spark-operator submit SCRIPT`. An existing file is not overwritten.
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
        text = starters.KUBEFLOW_DAG if kubeflow else starters.DAG
        return text.replace("DAG_ID", f"spark_{name.replace('-', '_')}").replace('task_id="pi"', f'task_id="{name}"')
    return (starters.KUBEFLOW if kubeflow else starters.APACHE).replace("NAME", quote(name), 1)


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
        return starters.set_program(dag, program, is_shipped=False)
    path = Path(program.removeprefix("file://")).absolute()
    if not path.is_file():
        raise CommandError(f"--py-file: {program} does not exist", ExitCode.INVALID)
    if kubeflow:
        message = "applications of Kubeflow's operator cannot contain a file. Give a URI, for example s3a://jobs/a.py"
        raise CommandError(f"--py-file {program}: {message}", ExitCode.INVALID)
    base = folder.absolute()
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    return starters.set_program(dag, str(shown), is_shipped=True)
