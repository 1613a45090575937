"""`spark-operator diff`: show what submitting a manifest would change."""

import difflib
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_CLAIM, GROUP, LABEL_TASK
from ...core.kubernetes.problems import InvalidResource
from ...core.models.parse import parse_application
from ...follow.access.reference import ApplicationReference
from ...follow.submission.prepare import prepare_document, set_served_version
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ..base.errors import ExitCode, print_note
from ..base.streams import paint
from ..files.documents import describe_source
from ..options.cluster_access import ClusterOptions, run_with_client
from ..output.log_records import show_warnings
from ..output.output import format_yaml
from ..submission import submission_options
from ..submission.submission_options import add_parameter_options, read_parameter_values
from ..submission.submission_source import Request, advise_on_name, compose_named_request, upload_nothing

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
# Annotations and labels of other clients: kubectl's copy of the manifest, the stamp of a task of Airflow, and the claim
# of the controller.
_FOREIGN = ("kubectl.kubernetes.io/", f"{LABEL_TASK.partition('/')[0]}/", ANNOTATION_CLAIM)
# See `core.compose.files.build_config_map_name`.
_SHIPPED_FILES = re.compile(r"(?<= name: )(\S+-files-)[0-9a-f]{10}$", re.MULTILINE)


@add_parameter_options(before="ttl")
def run(
    file: submission_options.SubmittedFile,
    arguments: submission_options.ProgramArguments = None,
    name: submission_options.ComparedName = None,
    assignments: submission_options.Assignments = None,
    api_version: submission_options.ApiVersion = None,
    upload_to: submission_options.UploadTo = None,
    download_from: submission_options.DownloadFrom = None,
    ttl: submission_options.TimeToLive = None,
    keep_driver: submission_options.KeepDriver = None,
    keep_failed_driver: submission_options.KeepFailedDriver = submission_options.USUAL_KEEP_FAILED_DRIVER,
    *,
    access: ClusterOptions,
    **parameters: Any,
) -> ExitCode:
    """Compare an application in the cluster with the one that `submit` would create, as a unified diff.

    Give the file and the options that you would give to `submit`. The command reads the application of the same name
    from the cluster, and compares its spec, labels and annotations. It ignores fields whose value is the default. It
    does not change or upload anything. The exit code is 0 without a difference, and 1 with a difference, like that of
    `kubectl diff`.

    `submit` does not change an existing application: to apply the difference, submit with --replace, or
    with another name. For a program, --name is required: without it, each submission gets a new name.

    Examples:
        # Compare a manifest with the application of the same name in the cluster
        spark-operator diff pi.yaml

        # Compare after setting other values
        spark-operator diff pi.yaml --executor-instances 10 --set spec.driverSpec=null
    """
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
    )
    document = compose_named_request(request, "to compare with", upload_nothing)
    has_options = any((values, arguments, assignments, api_version, ttl, keep_driver))
    source = describe_source(file)
    title = f"{source} (with options)" if has_options else source
    return run_with_client(access, lambda client: _compare(client, document, title, access.namespace))


async def _compare(client: KubeClient, document: JsonObject, title: str, namespace: str | None) -> ExitCode:
    """Compare a document with the cluster. The title names the new side of the difference."""
    body = prepare_document(client, document, namespace, None)
    resource = await set_served_version(client, body)
    metadata = body["metadata"]
    name, place = metadata["name"], metadata["namespace"]
    try:
        present = await client.get(resource, name, place)
    except NotFound:
        print_note(f"{resource.kind} {place}/{name} does not exist: submit creates it")
        return _print_difference("", _format(body), f"cluster {place}/{name}", title)
    code = _print_difference(_format(present), _format(body), f"cluster {place}/{name}", title)
    if code is ExitCode.CHECK_FAILED:
        reference = ApplicationReference.of(present, resource)
        print_note(f"submit does not change {reference}. {advise_on_name(reference)}")
    return code


def _format(resource: Mapping[str, Any]) -> str:
    """Return the part of a resource that its author writes, as YAML with sorted keys."""
    metadata = {"name": resource["metadata"]["name"]}
    for part in ("labels", "annotations"):
        given = resource["metadata"].get(part) or {}
        if own := {key: value for key, value in given.items() if not key.startswith(_FOREIGN)}:
            metadata[part] = own
    shown = {"apiVersion": resource["apiVersion"], "kind": resource["kind"], "metadata": metadata}
    return _name_files(format_yaml({**shown, "spec": _drop_defaults(resource)}))


def _name_files(text: str) -> str:
    """Replace the names of ConfigMaps with shipped files: each submission has new ones, also of the same files."""
    return _SHIPPED_FILES.sub(r"\1…", text)


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
    for line in lines:
        print(paint(line, _STYLES.get(line[:1], ""), sys.stdout))
    return ExitCode.CHECK_FAILED if lines else ExitCode.SUCCESS
