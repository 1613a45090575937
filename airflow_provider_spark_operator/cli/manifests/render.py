"""`spark-operator render`: print the resources of an application, without a cluster."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from ...core.driver.attempt import build_attempt, find_application_template_files
from ...core.driver.build import build_driver
from ...core.driver.configuration.resource_names import build_submit_naming
from ...core.driver.pod.pod import merge
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.lifecycle.observation import get_attempt_id
from ...core.models.parse import parse_application
from ...core.validation.application import with_placeholder_image
from ...reconcile.attempts.files import read_templates
from ..base.errors import CommandError, ExitCode, print_note
from ..files.documents import read_application_file
from ..files.settings_file import read_settings
from ..options.declaration import Parameter
from ..options.options import DocumentFormat, DocumentOutput, require_namespace, require_text
from ..output.output import print_documents
from ..submission.submission import gather_submission

_HEAD = ("apiVersion", "kind", "metadata")


def run(
    words: Annotated[
        list[str] | None,
        Parameter(
            "APP.yaml",
            "file with one SparkApplication; - reads standard input. With --spark-submit: the arguments of "
            "spark-submit",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        Parameter(
            "-n --namespace NAMESPACE",
            "namespace of the application if the file sets none (default: default)",
            check=require_namespace,
        ),
    ] = None,
    attempt: Annotated[
        int | None,
        Parameter(
            "--attempt N",
            "number of the attempt; the first is 1 (default: the attempt in the status, or 1)",
            at_least=1,
        ),
    ] = None,
    config: Annotated[
        str | None,
        Parameter(
            "--config FILE",
            "settings file of the controller, as for `reconcile --config`. Needed only if the "
            "controller has another operatorName than the default (default: none)",
            check=require_text,
        ),
    ] = None,
    spark_submit: Annotated[
        bool, Parameter("--spark-submit", "read the arguments after -- as spark-submit does")
    ] = False,
    output: DocumentOutput = DocumentFormat.YAML,
) -> ExitCode:
    r"""Print the resources that the controller creates for an application, in the order of their creation.

    With --spark-submit, print the resources that spark-submit would create with the arguments after `--`. The command
    then reads the environment and the configuration files of Spark, as spark-submit does. The command does not contact
    a cluster.

    Examples:
        # Print the driver pod and its resources
        spark-operator render pi.yaml

        # Print what spark-submit would create
        spark-operator render --spark-submit -- --master k8s://https://host --deploy-mode cluster --name pi \
            --conf spark.kubernetes.container.image=spark:4.3.0 local:///opt/pi.py
    """
    words = words or []
    if spark_submit and (namespace or attempt is not None or config):
        raise CommandError(
            "--namespace, --attempt and --config cannot be combined with --spark-submit", ExitCode.INVALID
        )
    if spark_submit:
        documents = render_submission(words, os.environ)
    elif len(words) == 1:
        documents = _render_attempt(words[0], namespace, attempt, config)
    else:
        raise CommandError("expected one file, or --spark-submit -- ARGS", ExitCode.INVALID)
    print_documents([{name: each[name] for name in _HEAD} | each for each in documents], output)
    return ExitCode.SUCCESS


def render_submission(arguments: Sequence[str], environment: Mapping[str, str]) -> list[JsonObject]:
    """Return the resources that `spark-submit ARGUMENTS` would create, in the order of their creation.

    All ids are derived from the arguments. So is the uid of the driver in the owner references; no pod has this uid.

    Raises:
        InvalidResource: spark-submit would refuse the arguments.
    """
    inputs = gather_submission(arguments, environment)
    naming = build_submit_naming(
        inputs.conf["spark.app.name"], inputs.conf, seed="\0".join(arguments), environment=environment
    )
    driver = build_driver(inputs, naming)
    for upload in driver.uploads:
        if not Path(upload.source).exists():
            raise InvalidResource([Problem(upload.source, "does not exist: nothing to upload")])
    for warning in driver.warnings:
        print_note(warning)
    for upload in driver.uploads:
        print_note(f"spark-submit would upload {upload.source} to {upload.target}")
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "controller": True,
        "name": driver.pod["metadata"]["name"],
        "uid": naming.pod_uid,
    }
    owned = [merge(each, {"metadata": {"ownerReferences": [owner]}}) for each in driver.resources]
    return [*driver.pre_resources, driver.pod, *owned]


def _render_attempt(path: str, namespace: str | None, number: int | None, config: str | None) -> list[JsonObject]:
    """Return the resources of an attempt, without references to owners that do not exist yet."""
    operator_name = read_settings(config).decisions.operator_name
    document, warnings = read_application_file(path)
    document = _set_namespace(document, path, namespace)
    application = with_placeholder_image(parse_application(document))
    templates = read_templates(find_application_template_files(application))
    attempt = build_attempt(
        application, get_attempt_id(application) if number is None else number - 1, operator_name, templates=templates
    )
    for warning in dict.fromkeys([*warnings, *attempt.warnings]):
        print_note(warning)
    pod = attempt.pod
    if not application.uid:
        metadata = {name: value for name, value in pod["metadata"].items() if name != "ownerReferences"}
        pod = {**pod, "metadata": metadata}
    return [*attempt.pre_resources, pod, *attempt.post_resources]


def _set_namespace(document: dict[str, Any], path: str, namespace: str | None) -> dict[str, Any]:
    """Return the document with a namespace, as `kubectl apply` would set it."""
    metadata = document["metadata"]
    if not metadata.get("name"):
        raise CommandError(
            f"{path}: metadata.name: is required, because the names of the pods and other objects contain it",
            ExitCode.INVALID,
        )
    given = metadata.get("namespace")
    if namespace and given and namespace != given:
        raise CommandError(
            f"{path}: metadata.namespace: is {given!r}, but --namespace is {namespace!r}: remove one of them",
            ExitCode.INVALID,
        )
    return {**document, "metadata": {**metadata, "namespace": given or namespace or "default"}}
