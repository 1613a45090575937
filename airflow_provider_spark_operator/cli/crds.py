"""`spark-operator crds`: print the CustomResourceDefinitions."""

import argparse
import json
import sys

import yaml

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.crds import build_custom_resource_definitions


def run(options: argparse.Namespace) -> ExitCode:
    """Print all definitions, or the one of `--kind`, as YAML documents or as one JSON list.

    Raises:
        CommandError: There is no such kind.
    """
    definitions = build_custom_resource_definitions()
    if options.kind:
        kinds = {str(definition["spec"]["names"]["kind"]): definition for definition in definitions}
        chosen = {kind.lower(): definition for kind, definition in kinds.items()}.get(options.kind.lower())
        if chosen is None:
            raise CommandError(
                f"--kind {options.kind}: unknown kind; must be one of {', '.join(kinds)}", ExitCode.INVALID
            )
        definitions = [chosen]
    if options.output == "json":
        document = {"apiVersion": "v1", "kind": "List", "items": definitions}
        print(json.dumps(document, indent=2))
    else:
        yaml.safe_dump_all(definitions, sys.stdout, sort_keys=False, explicit_start=True)
    return ExitCode.SUCCESS
