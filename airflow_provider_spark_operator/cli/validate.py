"""`spark-operator validate`: validate resources in files, without a cluster."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from airflow_provider_spark_operator.cli.documents import DocumentError, SourceDocument, read_documents
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import ReportFormat, ReportOutput
from airflow_provider_spark_operator.core.problems import Severity
from airflow_provider_spark_operator.core.validation.validate import validate

EXAMPLES = """
# Validate a manifest
spark-operator validate pi.yaml

# Validate what another program prints
helm template charts/jobs | spark-operator validate -
"""


@dataclass(frozen=True)
class Finding:
    """A problem and its position. `line` is the first line of the document, or None for a problem of the whole file."""

    source: str
    line: int | None
    resource: str
    path: str
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line is not None else self.source
        severity = "" if self.severity is Severity.ERROR else self.severity.value
        return ": ".join(part for part in (place, severity, self.resource, self.path, self.message) if part)


def run(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="file with one or more manifests; - reads standard input")
    ],
    output: ReportOutput = ReportFormat.TEXT,
) -> ExitCode:
    """Validate the manifests in YAML or JSON files, without a cluster.

    The command prints one line for each problem, with the path of the field. Warnings do not change the exit code.
    """
    findings: list[Finding] = []
    checked = 0
    for path in files:
        try:
            for document in read_documents(path):
                checked += 1
                findings += _check(document)
        except DocumentError as error:
            findings.append(Finding(error.source, None, "", "", error.problem))
    is_valid = all(finding.severity is not Severity.ERROR for finding in findings)
    if output is ReportFormat.JSON:
        print(json.dumps({"valid": is_valid, "documents": checked, "problems": _to_json(findings)}, indent=2))
    else:
        _print(findings, checked if is_valid else None)
    return ExitCode.SUCCESS if is_valid else ExitCode.INVALID


def _check(document: SourceDocument) -> list[Finding]:
    resource = _describe(document.content)
    return [
        Finding(document.source, document.line, resource, problem.path, problem.message, problem.severity)
        for problem in validate(document.content)
    ]


def _describe(content: object) -> str:
    """Return the kind and the name of a document, for example `SparkApplication pi`, as far as they are set."""
    if not isinstance(content, dict):
        return ""
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return " ".join(word for word in (content.get("kind"), name) if isinstance(word, str))


def _print(findings: Sequence[Finding], valid: int | None) -> None:
    for finding in findings:
        print(finding)
    if valid is not None:
        print(f"{valid} {'resource' if valid == 1 else 'resources'} valid")


def _to_json(findings: Sequence[Finding]) -> list[dict[str, object]]:
    return [
        {
            "file": finding.source,
            "line": finding.line,
            "resource": finding.resource,
            "path": finding.path,
            "message": finding.message,
            "severity": finding.severity.value,
        }
        for finding in findings
    ]
