"""`spark-operator submit`: submit an application from a manifest or a program."""

from datetime import timedelta
from typing import Annotated, Any

import typer

from airflow_provider_spark_operator.cli.ages import check_duration, parse_duration
from airflow_provider_spark_operator.cli.assignment import parse_assignment
from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.log_records import show_warnings
from airflow_provider_spark_operator.cli.named_applications import format_name
from airflow_provider_spark_operator.cli.options import (
    Context,
    Kubeconfig,
    Namespace,
    require_object_name,
    require_text,
)
from airflow_provider_spark_operator.cli.parameter_options import (
    LIFECYCLE_PANEL,
    PROGRAM_PANEL,
    add_parameter_options,
    read_parameter_values,
)
from airflow_provider_spark_operator.cli.submission_source import Request, compose_request, parse_value
from airflow_provider_spark_operator.cli.waiting import Timeout, Wait, wait_and_report
from airflow_provider_spark_operator.core.compose.application import TaskSettings
from airflow_provider_spark_operator.core.compose.retention import KEEP_FAILED_DRIVER
from airflow_provider_spark_operator.core.dialects.dialect import find_api_version_problem
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.ttl import KEEP
from airflow_provider_spark_operator.follow.errors import NameTaken
from airflow_provider_spark_operator.follow.submit import submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess

EXAMPLES = """
# Submit a manifest
spark-operator submit pi.yaml

# Submit a script with its arguments, print the driver's log, and end with the result of the application
spark-operator submit report.py --image spark:4.3.0 --follow -- --day 2026-01-31

# Submit a manifest under another name and with other values
spark-operator submit pi.yaml --name pi-large --executor-instances 10 --conf spark.ui.port=4050

# Set any field of the manifest
spark-operator submit pi.yaml --set spec.applicationTolerations.resourceRetainPolicy=Always
"""

_KEEP = "keep"


def _check_assignments(values: list[str] | None) -> list[str]:
    for text in values or ():
        try:
            parse_value(parse_assignment(text)[1])
        except ValueError as error:
            raise typer.BadParameter(f"{text!r}: {error}") from None
    return values or []


def _check_ttl(value: str | None) -> str | None:
    return value if value == _KEEP else check_duration(value)


def _check_api_version(value: str | None) -> str | None:
    problem = find_api_version_problem(value) if value is not None else None
    if problem:
        raise typer.BadParameter(problem.message)
    return value


@add_parameter_options(before="ttl")
def run(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            callback=require_text,
            help="manifest in YAML or JSON, - for standard input, or a program: a .py or .jar file, local or as a URI",
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGUMENT…", help="arguments of the program; write -- before those that begin with -"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            callback=require_object_name,
            help="name of the application (default: the name in the manifest, or one based on that of the program)",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            callback=_check_assignments,
            help="set a field of the manifest after all other options; the value is YAML, and null removes the "
            "field; can be repeated",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="wait until the application ends")] = False,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="wait until the application ends, and print the driver's log")
    ] = False,
    timeout: Timeout = None,
    api_version: Annotated[
        str | None,
        typer.Option(
            "--api-version",
            metavar="VERSION",
            callback=_check_api_version,
            help="apiVersion of the application that is created from a program, for example "
            "sparkoperator.k8s.io/v1beta2 (default: spark.apache.org/v1)",
            rich_help_panel=PROGRAM_PANEL,
        ),
    ] = None,
    upload_to: Annotated[
        str | None,
        typer.Option(
            "--upload-to",
            metavar="URL",
            callback=require_text,
            help="upload local files that a ConfigMap cannot hold to this folder, for example s3://bucket/jobs",
            rich_help_panel=PROGRAM_PANEL,
        ),
    ] = None,
    download_from: Annotated[
        str | None,
        typer.Option(
            "--download-from",
            metavar="URL",
            callback=require_text,
            help="URL at which the driver reads the folder of --upload-to (default: the same URL, but s3a:// for s3://)",
            rich_help_panel=PROGRAM_PANEL,
        ),
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            metavar="DURATION|keep",
            callback=_check_ttl,
            help="time until the operator deletes the application after its end; keep: never (default: that of the "
            "manifest, or 7d)",
            rich_help_panel=LIFECYCLE_PANEL,
        ),
    ] = None,
    keep_driver: Annotated[
        str | None,
        typer.Option(
            "--keep-driver",
            metavar="DURATION",
            callback=check_duration,
            help="keep the driver pod for this time after any end, so that its log can be read",
            rich_help_panel=LIFECYCLE_PANEL,
        ),
    ] = None,
    keep_failed_driver: Annotated[
        str,
        typer.Option(
            "--keep-failed-driver",
            metavar="DURATION",
            callback=check_duration,
            help="keep the driver pod for this time after a failure; 0: the manifest decides",
            rich_help_panel=LIFECYCLE_PANEL,
        ),
    ] = f"{KEEP_FAILED_DRIVER.total_seconds() / 60:.0f}m",
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
    **parameters: Any,
) -> ExitCode:
    """Submit an application from a manifest, or from a program and options.

    The options are the parameters of SparkApplicationOperator of Airflow, and override the manifest. Local files of a
    program become a ConfigMap of the application; files that are large or binary are uploaded to --upload-to. The
    application continues if the command is interrupted.
    """
    if timeout is not None and not (wait or follow):
        raise CommandError("--timeout needs --wait or --follow", ExitCode.INVALID)
    show_warnings()
    values = read_parameter_values(parameters)
    settings = TaskSettings(
        ttl=KEEP if ttl == _KEEP else _read_duration(ttl),
        keep_failed_driver=parse_duration(keep_failed_driver),
        keep_driver=_read_duration(keep_driver),
    )
    request = Request(
        file=file,
        name=name,
        values={**values, **({"arguments": arguments} if arguments else {})},
        settings=settings,
        assignments=assignments or (),
        upload_to=upload_to,
        download_from=download_from,
        api_version=api_version,
    )
    document = compose_request(request)
    waiting = Wait(limit=_read_duration(timeout), with_log=follow) if wait or follow else None
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: _submit(client, document, namespace, waiting))


def _read_duration(text: str | None) -> timedelta | None:
    return None if text is None else parse_duration(text)


async def _submit(client: KubeClient, document: JsonObject, namespace: str | None, waiting: Wait | None) -> ExitCode:
    try:
        reference = (await submit(client, document, namespace)).reference
    except NameTaken as error:
        raise CommandError(str(error), ExitCode.API_FAILED) from None
    if waiting is None:
        print(f"{format_name(reference)} created")
        return ExitCode.SUCCESS
    print_note(f"{reference} submitted")
    return await wait_and_report(client, reference, waiting)
