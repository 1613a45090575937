"""`spark-operator restart`: delete an application and submit it again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from ...core.compose.manifest import build_manifest
from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_STOPPED_POLICY, is_object_name
from ...core.kubernetes.pods import get_object, get_text
from ...follow.access.find import find_application
from ...follow.access.reference import ApplicationReference
from ...follow.submission.prepare import prepare_document
from ...follow.submission.submit import warn_about
from ...kube.client import KubeClient
from ..base.ages import parse_duration
from ..base.errors import CommandError, ExitCode, print_note
from ..base.object_names import require_new_name
from ..base.program_name import format_command, get_program_name
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import ApplicationName, ResultFormat, ResultOutput
from ..output.log_records import show_warnings
from ..submission.submission_options import (
    RESOURCE_NAMES,
    add_parameter_options,
    check_assignments,
    read_parameter_values,
)
from ..submission.submission_source import override
from ..views.application_end import DeletionTimeout, Timeout, Verbose, Wait, read_wait
from .named_applications import print_accepted, report_submission
from .replacement import check_replacement, replace_application


@add_parameter_options(before="access", names=RESOURCE_NAMES)
def run(
    name: ApplicationName,
    other_name: Annotated[
        str | None, Parameter("--name NAME", "rejected with advice", check=require_new_name, is_hidden=True)
    ] = None,
    assignments: Annotated[
        list[str] | None,
        Parameter(
            "--set PATH=VALUE",
            "change a field of the application, overriding all other options; the value is read as YAML, or "
            "literally if the field is a string; null removes the field; can be repeated",
            check=check_assignments,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        Parameter("--dry-run", "let the API server check the new application, print its manifest, and change nothing"),
    ] = False,
    wait: Annotated[bool, Parameter("--wait", "wait until the new application ends")] = False,
    follow: Annotated[
        bool, Parameter("-f --follow", "wait until the new application ends, and print the driver's log")
    ] = False,
    verbose: Verbose = False,
    timeout: Timeout = None,
    deletion_timeout: DeletionTimeout = "5m",
    output: ResultOutput = ResultFormat.TEXT,
    *,
    access: ClusterOptions,
    **parameters: Any,
) -> ExitCode:
    """Delete an application, and submit it again, unchanged or with the changes of the options.

    The new application has the spec, the labels and the annotations of the old one, and the values of the options. The
    options for cores, memory, executors and Spark properties are those of `submit`. The new application does not have
    the labels and annotations that an Airflow task has set. It is submitted when the old application and its
    driver pod no longer exist. Kubernetes deletes everything that the old application owns. The command refuses to
    restart an application that another resource owns, or that an Airflow task may still wait for. A suspended
    application stays suspended until `spark-operator resume`.

    Examples:
        # Run an application again
        spark-operator restart pi

        # Run it again, print the driver's log, and exit with the code of its outcome
        spark-operator restart pi --follow

        # Run it again with more memory and executors
        spark-operator restart pi --executor-memory 4g --executor-instances 10

        # Check the changed application without restarting it, and print its manifest
        spark-operator restart pi --executor-memory 4g --dry-run

        # Run it again with other arguments
        spark-operator restart pi --set 'spec.driverArgs=["100"]'
    """
    if other_name:
        raise CommandError(f"--name: `restart` keeps the name. {_advise_on_copy(name, other_name)}", ExitCode.INVALID)
    waiting = read_wait(wait=wait, follow=follow, verbose=verbose, timeout=timeout, dry_run=dry_run)
    show_warnings()
    change = partial(override, values=read_parameter_values(parameters), assignments=assignments or ())
    action = _Action(dry_run, parse_duration(deletion_timeout), waiting, output)
    return run_with_client(access, lambda client: _restart(client, name, change, action))


@dataclass(frozen=True)
class _Action:
    is_dry: bool
    deletion_limit: timedelta
    waiting: Wait | None
    output: ResultFormat


async def _restart(
    client: KubeClient, name: str, change: Callable[[JsonObject], JsonObject], action: _Action
) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    body = prepare_document(client, _change(build_manifest(resource), change), None, None)
    await check_replacement(client, reference, resource, body, "restart")
    _report_policy(reference, resource, body)
    if action.is_dry:
        warn_about(reference, body, body)
        return print_accepted(body, action.output, "restarted")
    created = await replace_application(client, reference, body, action.deletion_limit)
    if dialect_of(body.get("apiVersion")).is_suspended(body):
        resume = format_command("resume", created.name, created.namespace)
        print_note(f"{created} is still suspended. To start it, run {resume}")
    return await report_submission(client, created, "restarted", action.output, action.waiting)


def _report_policy(reference: ApplicationReference, resource: JsonObject, body: JsonObject) -> None:
    """Print that the new application is not restarted after a failure, because `stop` has changed the old one."""
    replaced = get_object(resource["metadata"].get("annotations")).get(ANNOTATION_STOPPED_POLICY)
    if replaced and dialect_of(body.get("apiVersion")).read_restart_config(body).get("restartPolicy") == "Never":
        option = f"--set spec.applicationTolerations.restartConfig.restartPolicy={replaced}"
        changed = f"`stop` has set the restart policy of {reference} to Never; it was {replaced}"
        print_note(f"{changed}. To restore it, add {option}")


def _change(manifest: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Return a manifest with the values of the options.

    Raises:
        CommandError: A value changes the identity of the application.
        InvalidResource: A value is not valid, or a path leads into a value that is not an object or not a list.
    """
    changed = change(manifest)
    names = [get_text(get_object(each.get("metadata")).get("name")) for each in (manifest, changed)]
    if _identify(changed) != _identify(manifest):
        raise CommandError(
            "--set: `restart` cannot change the kind, the name or the namespace of an application. "
            f"{_advise_on_copy(*names)}",
            ExitCode.INVALID,
        )
    return changed


def _advise_on_copy(name: str, other: str) -> str:
    """Return how to submit an application again under another name."""
    program, other = get_program_name(), other if other != name and is_object_name(other) else f"{name}-2"
    return f"To use another name, run `{program} status {name} -o yaml | {program} submit - --name {other}`"


def _identify(manifest: JsonObject) -> tuple[object, ...]:
    metadata = manifest.get("metadata")
    name = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else ()
    return (manifest.get("apiVersion"), manifest.get("kind"), *name)
