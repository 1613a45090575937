"""`spark-operator validate`: validate resources in files, without a cluster."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, TextIO

from ...core.kubernetes.problems import Problem, Severity
from ...core.validation.validate import validate
from ..base.errors import ExitCode, print_note
from ..base.streams import escape_controls, paint
from ..files import documents
from ..options.declaration import Parameter
from ..options.options import ReportFormat, ReportOutput


@dataclass(frozen=True)
class Finding:
    """A problem and its position.

    Attributes:
        source: The name of the file.
        line: The line in the file, from 1; None for a problem of the whole file.
        column: The column in the line, from 1; None for a problem of the whole file.
        resource: The kind and the name of the resource; empty if they are unknown.
        path: The path of the field; empty for the whole resource.
        message: Completes the sentence that begins with the path.
        severity: Whether the problem prevents the submission.
    """

    source: str
    line: int | None
    column: int | None
    resource: str
    path: str
    message: str
    severity: Severity = Severity.ERROR

    def describe(self, stream: TextIO) -> str:
        """Return the line for a stream, in colours if it is a terminal."""
        place = f"{self.source}:{self.line}:{self.column}" if self.line is not None else self.source
        severity = paint(f"{self.severity}:", _STYLES[self.severity], stream)
        text = ": ".join(part for part in (self.resource, self.path, self.message) if part)
        return f"{escape_controls(place)}: {severity} {escape_controls(text)}"


_STYLES: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


@dataclass
class _Report:
    """The result of checking all files.

    Attributes:
        findings: The problems, in the order of the files.
        checked: Number of documents that were checked.
        skipped: Number of documents in folders that are not resources of Spark.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: int = 0
    skipped: int = 0

    def is_valid(self, *, strict: bool) -> bool:
        """Return whether there is no error; with `strict`, whether there is no problem."""
        return all(not strict and finding.severity is not Severity.ERROR for finding in self.findings)


def run(
    files: Annotated[
        list[str],
        Parameter(
            "FILE|DIR…",
            "file with one or more manifests, or folder with such files (.yaml, .yml, .json); - reads standard input",
        ),
    ],
    strict: Annotated[bool, Parameter("--strict", "fail also on warnings")] = False,
    output: ReportOutput = ReportFormat.TEXT,
) -> ExitCode:
    """Validate the manifests in YAML or JSON files, without a cluster.

    The command prints one line for each problem, with the file, the line and the column of the field. Warnings change
    the exit code only with --strict. Resources of other kinds are skipped. A file without any Spark resource is an
    error. The items of a List are validated one by one.

    Examples:
        # Validate a manifest
        spark-operator validate pi.yaml

        # Validate all manifests below a folder; fail also on warnings
        spark-operator validate --strict jobs/

        # Validate what another program prints
        helm template charts/jobs | spark-operator validate -
    """
    report = _Report()
    for path in files:
        _check_path(path, report)
    is_valid = report.is_valid(strict=strict)
    if output is ReportFormat.JSON:
        problems = _to_json(report.findings)
        print(json.dumps({"valid": is_valid, "documents": report.checked, "problems": problems}, indent=2))
    else:
        _print(report.findings, report.checked if is_valid else None)
    if report.skipped:
        print_note(f"skipped resources that are not Spark resources: {report.skipped}")
    return ExitCode.SUCCESS if is_valid else ExitCode.INVALID


def _check_path(path: str, report: _Report) -> None:
    """Add the problems in a file, or in the files of a folder, to the report."""
    try:
        found = documents.list_files(path)
    except documents.DocumentError as error:
        report.findings.append(_report_unreadable(error))
        return
    is_folder = found != [path]
    read = documents.read_spark_documents if is_folder else _read_file
    for file in found:
        before, duplicates = len(report.findings), list[documents.DocumentError]()
        try:
            for document in read(file, duplicates):
                if document is None:
                    report.skipped += 1
                else:
                    report.checked += 1
                    report.findings += _check(document)
        except documents.DocumentError as error:
            report.findings.append(_report_unreadable(error))
        if duplicates:
            report.findings += map(_report_unreadable, duplicates)
            report.findings[before:] = sorted(
                report.findings[before:], key=lambda finding: (finding.line or 0, finding.column or 0)
            )


def _locate(finding: Finding) -> tuple[int, int]:
    return finding.line or 0, finding.column or 0


def _read_file(path: str, duplicates: list[documents.DocumentError]) -> Iterator[documents.SourceDocument | None]:
    """Yield the resources of a file that was named; None for those of other kinds, unless there are no others."""
    found, failure = list[documents.SourceDocument](), None
    try:
        for document in documents.read_documents(path, duplicates):
            found += documents.split_list(document)
    except documents.DocumentError as error:  # raised after the documents before it
        failure = error
    if not found and failure is None:  # an empty List
        failure = documents.DocumentError(documents.describe_source(path), "contains no resource")
    is_mixed = any(documents.is_of_spark(document.content) for document in found)
    yield from (None if is_mixed and documents.is_of_another_kind(document.content) else document for document in found)
    if failure is not None:
        raise failure


def _report_unreadable(error: documents.DocumentError) -> Finding:
    line, column = (error.mark.line + 1, error.mark.column + 1) if error.mark else (None, None)
    return Finding(error.source, line, column, "", "", error.problem)


def _check(document: documents.SourceDocument) -> list[Finding]:
    """Return the problems of a document, in the order of their positions."""
    resource = _describe(document.content)
    found = [
        (documents.find_position(document.node, problem.path), problem) for problem in _find_problems(document.content)
    ]
    return [
        Finding(
            document.source, mark.line + 1, mark.column + 1, resource, problem.path, problem.message, problem.severity
        )
        for mark, problem in sorted(found, key=lambda each: (each[0].line, each[0].column))
    ]


def _find_problems(content: object) -> list[Problem]:
    if isinstance(content, dict) and str(content.get("apiVersion")).partition("/")[0] == "sparkoperator.k8s.io":
        # Most manifests do not need the definition of Kubeflow's operator.
        from ...core.convert.check import check_manifest  # noqa: PLC0415
        from ..base.ages import is_time_zone  # noqa: PLC0415

        return check_manifest(content, is_time_zone)
    return validate(content)


def _describe(content: object) -> str:
    """Return the kind and the name of a document, for example `SparkApplication pi`, as far as they are set."""
    if not isinstance(content, dict):
        return ""
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return " ".join(word for word in (content.get("kind"), name) if isinstance(word, str))


def _print(findings: Sequence[Finding], valid: int | None) -> None:
    for finding in findings:
        print(finding.describe(sys.stdout))
    if valid is not None:
        print(f"{valid} {'resource' if valid == 1 else 'resources'} valid")


def _to_json(findings: Sequence[Finding]) -> list[dict[str, object]]:
    return [
        {
            "file": finding.source,
            "line": finding.line,
            "column": finding.column,
            "resource": finding.resource,
            "path": finding.path,
            "message": finding.message,
            "severity": finding.severity.value,
        }
        for finding in findings
    ]
