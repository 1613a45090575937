"""`spark-operator init`: print or write a starter manifest or a starter DAG."""

import json
import re
from pathlib import Path
from typing import Annotated, Final

from ...core.driver.configuration.uris import is_local
from ...kube.yaml_writer import quote
from ..base.errors import CommandError, ExitCode, print_note
from ..base.object_names import derive_name, require_new_name
from ..options.declaration import Parameter
from ..options.options import require_text

_NAME = "pi"
_STARTERS: Final = Path(__file__).with_name("starters")
_API_VERSION: Final = """\
        # Kubeflow's operator runs the application.
        api_version="sparkoperator.k8s.io/v1beta2",
"""
_PROGRAM: Final = re.compile(r" *# The program\..*?arguments=[^\n]*\n", re.DOTALL)
"""The program of the starter DAG, and its arguments."""


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
        text = _read_starter("dag.py.txt")
        if kubeflow:
            text = text.replace("        image=", f"{_API_VERSION}        image=")
        return text.replace("DAG_ID", f"spark_{name.replace('-', '_')}").replace('task_id="pi"', f'task_id="{name}"')
    return _read_starter("kubeflow.yaml" if kubeflow else "apache.yaml").replace("NAME", quote(name))


def _read_starter(name: str) -> str:
    return (_STARTERS / name).read_text(encoding="utf-8")


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


def set_program(dag: str, program: str, *, is_shipped: bool) -> str:
    """Return a starter DAG with another program.

    Args:
        dag: The starter DAG.
        program: The path or the URI of a Python script.
        is_shipped: Whether the operator ships the script to the driver.
    """
    comment = "        # The program: the operator ships this file to the driver.\n" if is_shipped else ""
    line = f"        py_file={json.dumps(program, ensure_ascii=False)},\n"
    return _PROGRAM.sub(lambda _: comment + line, dag)
