"""`spark-operator validate`: check resources in files, without a cluster."""

import argparse
import json
from dataclasses import dataclass

from airflow_provider_spark_operator.cli.documents import DocumentError, SourceDocument, read_documents
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.models.validation import validate_resource


@dataclass(frozen=True)
class Finding:
    """A problem and where it is: `line` is that of the document's first line, None for a whole file."""

    source: str
    line: int | None
    resource: str
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line is not None else self.source
        return ": ".join(part for part in (place, self.resource, self.path, self.message) if part)


def run(options: argparse.Namespace) -> ExitCode:
    """Print every problem of every file on stdout; INVALID if there is any, SUCCESS if none."""
    findings: list[Finding] = []
    checked = 0
    for path in options.files:
        try:
            for document in read_documents(path):
                checked += 1
                findings += _check(document)
        except DocumentError as error:
            source, _, message = str(error).partition(": ")
            findings.append(Finding(source, None, "", "", message))
    if options.output == "json":
        print(json.dumps({"valid": not findings, "documents": checked, "problems": _as_json(findings)}, indent=2))
    else:
        _print(findings, checked)
    return ExitCode.INVALID if findings else ExitCode.SUCCESS


def _check(document: SourceDocument) -> list[Finding]:
    resource = _described(document.content)
    problems = validate_resource(document.content)
    return [Finding(document.source, document.line, resource, problem.path, problem.message) for problem in problems]


def _described(content: object) -> str:
    """`SparkApplication pi`, as far as the document says so."""
    if not isinstance(content, dict):
        return ""
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return " ".join(word for word in (content.get("kind"), name) if isinstance(word, str))


def _print(findings: list[Finding], checked: int) -> None:
    for finding in findings:
        print(finding)
    if not findings:
        print(f"{checked} {'resource' if checked == 1 else 'resources'} valid")


def _as_json(findings: list[Finding]) -> list[dict[str, object]]:
    return [
        {
            "file": finding.source,
            "line": finding.line,
            "resource": finding.resource,
            "path": finding.path,
            "message": finding.message,
        }
        for finding in findings
    ]
