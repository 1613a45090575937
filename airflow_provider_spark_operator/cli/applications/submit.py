"""`spark-operator submit`: submit an application from a manifest or a program."""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

import click

from ...core.compose.sql import SqlFormat
from ...core.kubernetes.json_object import JsonObject
from ...core.report.budget import Budget
from ...core.report.prices import PriceTable
from ...follow.access.reference import ApplicationReference, NameTaken
from ...follow.submission.prepare import prepare_document, set_served_version
from ...follow.submission.submit import check_submission, submit, warn_about
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ..base.errors import CommandError, ExitCode
from ..files.price_file import read_prices
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import Prices, ResultFormat, ResultOutput
from ..output.log_records import show_warnings
from ..submission import submission_options
from ..submission.submission_options import add_parameter_options, read_parameter_values
from ..submission.submission_source import (
    Request,
    compose_named_request,
    compose_request,
    describe_taken_name,
    upload_nothing,
    write_object,
)
from ..views.application_end import Quiet, Timeout, Verbose, Wait, read_wait
from .named_applications import print_accepted, report_submission
from .replacement import check_replacement, replace_application


def check_limit(text: str) -> float:
    """Return the number in `text`.

    Raises:
        BadParameter: It is not a number greater than 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise click.BadParameter("must be a number greater than 0")
    return number


MaxCoreHours: TypeAlias = Annotated[
    float | None,
    Parameter(
        "--max-core-hours NUMBER",
        "with --wait or --follow, delete the application when it has requested more core-hours; the exit code is then "
        "6 (default: no limit)",
        check=check_limit,
    ),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    Parameter(
        "--max-cost NUMBER",
        "with --wait or --follow, delete the application when it has cost more with --prices; the exit code is then "
        "6 (default: no limit)",
        check=check_limit,
    ),
]


@add_parameter_options(before="ttl")
def run(
    file: submission_options.SubmittedFile,
    arguments: submission_options.ProgramArguments = None,
    name: submission_options.NewName = None,
    assignments: submission_options.Assignments = None,
    dry_run: Annotated[
        bool,
        Parameter(
            "--dry-run", "let the API server check the application, print its manifest, and create and upload nothing"
        ),
    ] = False,
    replace: Annotated[
        bool, Parameter("--replace", "delete the application with this name first, even if it is running")
    ] = False,
    wait: Annotated[bool, Parameter("--wait", "wait until the application ends")] = False,
    follow: Annotated[
        bool, Parameter("-f --follow", "wait until the application ends, and print the driver's log")
    ] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    timeout: Timeout = None,
    max_core_hours: MaxCoreHours = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    output: ResultOutput = ResultFormat.TEXT,
    api_version: submission_options.ApiVersion = None,
    upload_to: submission_options.UploadTo = None,
    download_from: submission_options.DownloadFrom = None,
    sql_format: submission_options.SqlOutput = SqlFormat.TABLE,
    ttl: submission_options.TimeToLive = None,
    keep_driver: submission_options.KeepDriver = None,
    keep_failed_driver: submission_options.KeepFailedDriver = submission_options.USUAL_KEEP_FAILED_DRIVER,
    *,
    access: ClusterOptions,
    **parameters: Any,
) -> ExitCode:
    """Submit an application from a manifest, or from a program and options.

    The options override the fields of the manifest; only --keep-failed-driver does not. The options have the same names
    as the parameters of Airflow's SparkApplicationOperator. Two names differ: --queue is kueue_queue there, and
    --priority is kueue_priority. Local files of a program become a ConfigMap of the application; large and binary files
    are uploaded to --upload-to. The application continues if the command is interrupted. After a success, the driver
    pod is deleted, and its log with it; --keep-driver keeps it.

    Examples:
        # Submit a manifest
        spark-operator submit pi.yaml

        # On a local cluster, a script needs only an image
        spark-operator submit report.py --image spark:4.3.0

        # Submit a script with its arguments, print the driver's log, and exit with the code of its outcome
        spark-operator submit report.py --image spark:4.3.0 --service-account spark --follow -- --day 2026-01-31

        # Write the arguments without -- if none of them begins with a hyphen
        spark-operator submit report.py 2026-01-31 eu --image spark:4.3.0 --service-account spark

        # Run the statements of a file, and save the rows of the last one
        spark-operator submit query.sql --sql-parameter day=2026-01-31 --image spark:4.3.0 -f --sql-format csv > a.csv

        # Submit a script, and get the name of the application in a shell script
        name=$(spark-operator submit report.py --image spark:4.3.0 --service-account spark -o name)

        # Submit a manifest under another name and with other values
        spark-operator submit pi.yaml --name pi-large --executor-instances 10 --conf spark.ui.port=4050

        # Check the application in the cluster without creating it, and print its manifest
        spark-operator submit pi.yaml --executor-instances 10 --dry-run

        # Run a changed manifest in place of the application with the same name
        spark-operator submit pi.yaml --replace

        # Set any field of the manifest
        spark-operator submit pi.yaml --set spec.applicationTolerations.resourceRetainPolicy=Always
    """
    budget, table = read_budget(max_core_hours, max_cost, prices, waits=wait or follow)
    waiting = read_wait(
        wait=wait,
        follow=follow,
        verbose=verbose,
        quiet=quiet,
        timeout=timeout,
        dry_run=dry_run,
        budget=budget,
        prices=table,
        result_only=sql_format is not SqlFormat.TABLE,
    )
    show_warnings()
    values = read_parameter_values(parameters)
    request = Request(
        file=file,
        name=name,
        values={**values, **({"arguments": arguments} if arguments else {})},
        settings=submission_options.build_settings(ttl, keep_driver, keep_failed_driver),
        assignments=assignments or (),
        upload_to=upload_to,
        download_from=download_from,
        api_version=api_version,
        sql_format=sql_format,
    )
    write = upload_nothing if dry_run else write_object
    document = compose_named_request(request, "to replace", write) if replace else compose_request(request, write)
    action = _Action(dry_run, replace, waiting, output)
    return run_with_client(access, lambda client: _submit(client, document, access.namespace, action))


_DELETION_LIMIT: Final = timedelta(minutes=5)


@dataclass(frozen=True)
class _Action:
    is_dry: bool
    replaces: bool
    waiting: Wait | None
    output: ResultFormat


async def _submit(client: KubeClient, document: JsonObject, namespace: str | None, action: _Action) -> ExitCode:
    try:
        present, body = await _find_present(client, document, namespace) if action.replaces else (None, document)
        if action.is_dry:
            if present is None:
                body = await check_submission(client, document, namespace)
            else:
                warn_about(present, body, body)
            return print_accepted(body, action.output, "replaced" if present else "created")
        if present is not None:
            reference, done = await replace_application(client, present, body, _DELETION_LIMIT), "replaced"
        else:
            reference, done = (await submit(client, document, namespace)).reference, "created"
    except NameTaken as error:
        raise CommandError(describe_taken_name(error), ExitCode.API_FAILED) from None
    return await report_submission(client, reference, done, action.output, action.waiting)


async def _find_present(
    client: KubeClient, document: JsonObject, namespace: str | None
) -> tuple[ApplicationReference | None, JsonObject]:
    """Return the application to replace, None if there is none, and the complete manifest of the new one.

    Raises:
        CommandError: The application must not be replaced.
    """
    body = prepare_document(client, document, namespace, None)
    kind = await set_served_version(client, body)
    try:
        present = await client.get(kind, body["metadata"]["name"], body["metadata"]["namespace"])
    except NotFound:
        return None, body
    reference = ApplicationReference.of(present, kind)
    await check_replacement(client, reference, present, body, "replace")
    return reference, body


def read_budget(
    max_core_hours: float | None, max_cost: float | None, prices: str | None, *, waits: bool
) -> tuple[Budget | None, PriceTable | None]:
    """Return the budget and its prices; None for what is not set.

    Args:
        max_core_hours: The option --max-core-hours.
        max_cost: The option --max-cost.
        prices: The option --prices.
        waits: Whether the command waits for the end of the application.

    Raises:
        CommandError: An option lacks another one, or the prices are not valid.
    """
    for option, limit in (("--max-core-hours", max_core_hours), ("--max-cost", max_cost)):
        if limit is not None and not waits:
            raise CommandError(f"{option} needs --wait or --follow", ExitCode.INVALID)
    if (max_cost is None) != (prices is None):
        raise CommandError("--max-cost and --prices need each other", ExitCode.INVALID)
    if max_core_hours is None and max_cost is None:
        return None, None
    table = read_prices(prices) if prices is not None else None
    return Budget(max_core_hours, max_cost, ends_application=True), table
