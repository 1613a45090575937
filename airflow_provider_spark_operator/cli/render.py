"""`spark-operator render`: print the resources of an application, without a cluster."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.cli.application_file import read_application_file
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.settings_file import read_settings
from airflow_provider_spark_operator.cli.streams import is_unicode
from airflow_provider_spark_operator.cli.submission import gather_submission
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.build import build_driver
from airflow_provider_spark_operator.core.driver.named_files import find_application_template_files
from airflow_provider_spark_operator.core.driver.pod import JsonObject, merge
from airflow_provider_spark_operator.core.driver.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.observation import get_attempt_id
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.validation.application import with_placeholder_image
from airflow_provider_spark_operator.reconcile.files import read_templates

_HEAD = ("apiVersion", "kind", "metadata")


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes texts of several lines as literal blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def run(options: argparse.Namespace) -> ExitCode:
    """Print the resources in the order of their creation.

    Raises:
        CommandError: The arguments are invalid.
        InvalidResource: No driver can be built from the input.
    """
    if options.spark_submit and (options.namespace or options.attempt is not None or options.config):
        raise CommandError(
            "--namespace, --attempt and --config cannot be combined with --spark-submit", ExitCode.INVALID
        )
    if options.spark_submit:
        documents = render_submission(options.words, os.environ)
    elif len(options.words) == 1:
        documents = _render_attempt(options)
    else:
        raise CommandError("expected one file, or --spark-submit -- ARGS", ExitCode.INVALID)
    _print(documents, options.output)
    return ExitCode.SUCCESS


def render_submission(arguments: Sequence[str], environment: Mapping[str, str]) -> list[JsonObject]:
    """Return the resources that `spark-submit ARGUMENTS` would create, in the order of their creation.

    All ids are derived from the arguments. So is the uid of the driver in the owner references; no pod has this uid.

    Raises:
        InvalidResource: spark-submit would refuse the arguments.
    """
    inputs = gather_submission(arguments, environment)
    naming = build_submit_naming(
        inputs.conf["spark.app.name"],
        inputs.conf,
        seed="\0".join(arguments),
        environment=environment,
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


def _render_attempt(options: argparse.Namespace) -> list[JsonObject]:
    """Return the resources of an attempt, without references to owners that do not exist yet."""
    (path,) = options.words
    operator_name = read_settings(options.config).decisions.operator_name
    document, warnings = read_application_file(path)
    document = _set_namespace(document, path, options.namespace)
    application = with_placeholder_image(parse_application(document))
    templates = read_templates(find_application_template_files(application))
    attempt = build_attempt(
        application,
        get_attempt_id(application) if options.attempt is None else options.attempt,
        operator_name,
        templates=templates,
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
            f"{path}: metadata.name: is required: the ids of the resources are derived from it", ExitCode.INVALID
        )
    given = metadata.get("namespace")
    if namespace and given and namespace != given:
        raise CommandError(
            f"{path}: metadata.namespace: is {given!r}, but --namespace is {namespace!r}: remove one of them",
            ExitCode.INVALID,
        )
    return {**document, "metadata": {**metadata, "namespace": given or namespace or "default"}}


def _print(documents: list[JsonObject], output: str) -> None:
    documents = [{name: each[name] for name in _HEAD} | each for each in documents]
    is_plain = is_unicode(sys.stdout)
    if output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}, indent=2, ensure_ascii=not is_plain))
        return
    for document in documents:
        # The round trip through JSON makes copies of shared parts, so that YAML writes no references between them.
        unshared = json.loads(json.dumps(document))
        yaml.dump(unshared, sys.stdout, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=is_plain)
