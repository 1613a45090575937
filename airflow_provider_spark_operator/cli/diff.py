"""`spark-operator diff`: show what submitting a manifest would change."""

import difflib
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Annotated, Any

import typer

from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.documents import describe_source
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.log_records import show_warnings
from airflow_provider_spark_operator.cli.options import Context, Kubeconfig, Namespace, require_text
from airflow_provider_spark_operator.cli.output import format_yaml, open_console
from airflow_provider_spark_operator.cli.submission_source import Request, compose_request
from airflow_provider_spark_operator.core.compose.application import TaskSettings
from airflow_provider_spark_operator.core.compose.retention import KEEP_FAILED_DRIVER
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.names import GROUP, LABEL_TASK
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.follow.prepare import prepare_document, set_served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.errors import NotFound

EXAMPLES = """
# Compare a manifest with the application of its name in the cluster
spark-operator diff pi.yaml
"""

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
# Annotations and labels of other clients: kubectl's copy of the manifest, and the stamp of a task of Airflow.
_FOREIGN = ("kubectl.kubernetes.io/", f"{LABEL_TASK.partition('/')[0]}/")
_SUBMITTED = TaskSettings(ttl=None, keep_failed_driver=KEEP_FAILED_DRIVER, keep_driver=None)


def run(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", callback=require_text, help="manifest in YAML or JSON, - for standard input"),
    ],
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Show what submitting a manifest would change in the cluster, as a unified diff.

    The manifest, as `submit` would send it, is compared with the spec, the labels and the annotations of the
    application of its name. Fields that have their default value are left out. The exit code is 0 without a
    difference, and 1 with a difference, like that of `kubectl diff`. Nothing is changed.
    """
    if PurePosixPath(file).suffix in (".py", ".jar"):
        raise CommandError(f"{file}: must be a manifest: each submission of a program has a new name", ExitCode.INVALID)
    show_warnings()
    request = Request(
        file=file,
        name=None,
        values={},
        settings=_SUBMITTED,
        assignments=(),
        upload_to=None,
        download_from=None,
        api_version=None,
    )
    document = compose_request(request)
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: _compare(client, document, describe_source(file), namespace))


async def _compare(client: KubeClient, document: JsonObject, source: str, namespace: str | None) -> ExitCode:
    body = prepare_document(client, document, namespace, None)
    resource = await set_served_version(client, body)
    metadata = body["metadata"]
    name, place = metadata.get("name"), metadata["namespace"]
    if not name:
        raise CommandError(f"{source}: metadata.name: is required: add the name to compare with", ExitCode.INVALID)
    try:
        before = _format(await client.get(resource, name, place))
    except NotFound:
        print_note(f"{resource.kind} {place}/{name} does not exist: submit creates it")
        before = ""
    return _print_difference(before, _format(body), f"cluster {place}/{name}", source)


def _format(resource: Mapping[str, Any]) -> str:
    """Return the part of a resource that its author writes, as YAML with sorted keys."""
    metadata = {"name": resource["metadata"]["name"]}
    for part in ("labels", "annotations"):
        given = resource["metadata"].get(part) or {}
        if own := {key: value for key, value in given.items() if not key.startswith(_FOREIGN)}:
            metadata[part] = own
    shown = {"apiVersion": resource["apiVersion"], "kind": resource["kind"], "metadata": metadata}
    return format_yaml({**shown, "spec": _drop_defaults(resource)})


def _drop_defaults(resource: Mapping[str, Any]) -> object:
    """Return the spec without the fields that have their default, because the API server adds some defaults."""
    if resource["apiVersion"].partition("/")[0] == GROUP:
        with suppress(InvalidResource):  # written for a newer version of the definition
            application = parse_application({key: value for key, value in resource.items() if key != "status"})
            return application.model_dump(mode="json", by_alias=True, exclude_defaults=True)["spec"]
    return resource["spec"]


def _print_difference(before: str, after: str, old: str, new: str) -> ExitCode:
    lines = [
        line.rstrip("\n")
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")
    ]
    if sys.stdout.isatty():
        from rich.text import Text  # noqa: PLC0415 - pipes do not need it

        console = open_console()
        for line in lines:
            console.print(Text(line, _STYLES.get(line[:1], "")), soft_wrap=True)
    else:
        print(*lines, sep="\n", end="\n" if lines else "")
    return ExitCode.CHECK_FAILED if lines else ExitCode.SUCCESS
