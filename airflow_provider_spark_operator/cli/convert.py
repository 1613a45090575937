"""`spark-operator convert`: convert manifests of Kubeflow's operator, without a cluster."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_spark_operator.cli.control_characters import escape_controls
from airflow_provider_spark_operator.cli.convert_files import list_files, write_files
from airflow_provider_spark_operator.cli.documents import DocumentError, describe_source, read_documents
from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import DocumentFormat, DocumentOutput
from airflow_provider_spark_operator.cli.output import print_documents
from airflow_provider_spark_operator.cli.time_zones import is_time_zone
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.convert.report import Conversion, FieldReport, Outcome, Status

EXAMPLES = """
# Convert a manifest, and read the report
spark-operator convert pi.yaml > pi-apache.yaml

# Convert all manifests of a folder
spark-operator convert manifests/ --output-directory converted/

# Convert the applications of a cluster
kubectl get sparkapplications.sparkoperator.k8s.io -o yaml | spark-operator convert -

# Write the report as JSON
spark-operator convert pi.yaml --report json 2> report.json
"""

# Longer paths stand out of their column, so that the reasons of the others stay close to their paths.
_WIDEST_PATH = 46


class ReportFormat(StrEnum):
    """The formats of the report."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class SourceConversion:
    """A conversion, and the position of the document. `line` counts from 1."""

    path: str
    source: str
    line: int
    conversion: Conversion


def run(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR|-…", help="manifests or folders with manifests; - for standard input"),
    ],
    output: DocumentOutput = DocumentFormat.YAML,
    output_directory: Annotated[
        str | None,
        typer.Option(
            "--output-directory",
            metavar="DIR",
            help="folder for the results: a file for each input file, and a DAG file for each "
            "ScheduledSparkApplication (default: print the manifests)",
        ),
    ] = None,
    report: Annotated[
        ReportFormat, typer.Option("--report", metavar="text|json", help="format of the report on standard error")
    ] = ReportFormat.TEXT,
) -> ExitCode:
    """Convert manifests of Kubeflow's operator to `spark.apache.org/v1`.

    A SparkApplication becomes a SparkApplication of the new group, and a ScheduledSparkApplication becomes a DAG file.
    Other resources are passed through unchanged. Comments are not kept.

    The report on standard error says which fields are changed, dropped or added, and why. The JSON report also lists
    the fields that are converted without a change. The exit code is 2 if a document is refused.
    """
    conversions = list(_convert(list_files(files)))
    _report(conversions, report)
    accepted = [each for each in conversions if each.conversion.status is not Status.REFUSED]
    if output_directory is not None:
        written = [(each.path, each.conversion) for each in accepted]
        for name in write_files(Path(output_directory), written, output):
            print_note(f"wrote {name}")
    else:
        _print(accepted, output)
    return ExitCode.SUCCESS if len(accepted) == len(conversions) else ExitCode.INVALID


def _convert(files: Sequence[tuple[str, str]]) -> Iterator[SourceConversion]:
    """Convert the documents of all files. A file that cannot be read is a refused document."""
    for path, name in files:
        is_empty = True
        try:
            for document in read_documents(path):
                for conversion in convert_document(document.content, is_time_zone):
                    is_empty = False
                    yield SourceConversion(name, document.source, document.line, conversion)
            if is_empty:  # an empty List
                raise DocumentError(describe_source(path), "contains no resource")
        except DocumentError as error:
            print_error(str(error))
            yield SourceConversion(name, error.source, 1, Conversion("document", Status.REFUSED))


def _print(accepted: Sequence[SourceConversion], output: DocumentFormat) -> None:
    dags = [each.conversion.dag for each in accepted if each.conversion.dag is not None]
    if dags and len(accepted) > 1:
        raise CommandError(
            "a DAG file cannot be printed with other documents: use --output-directory", ExitCode.INVALID
        )
    if dags:
        sys.stdout.write(dags[0])
        return
    documents = [each.conversion.document for each in accepted if each.conversion.document is not None]
    if documents:
        print_documents(documents, output)


def _report(conversions: Sequence[SourceConversion], report: ReportFormat) -> None:
    if report is ReportFormat.JSON:
        print(json.dumps([_to_json(each) for each in conversions], indent=2), file=sys.stderr)
        return
    for each in conversions:
        _report_text(each)


def _report_text(each: SourceConversion) -> None:
    conversion = each.conversion
    place = f"{each.source}:{each.line}: {conversion.resource}"
    if conversion.status is Status.REFUSED:
        for problem in conversion.problems:
            print_error(f"{place}: {problem}")
        return
    if conversion.status is Status.UNCHANGED:
        print_note(f"{place}: {' '.join(conversion.notes)}")
        return
    counts = ", ".join(f"{conversion.count(outcome)} {outcome}" for outcome in Outcome)
    print_note(f"{place}: fields: {counts}")
    rows = [field for field in conversion.fields if field.outcome is not Outcome.EXACT]
    width = min(max((len(field.path) for field in rows), default=0), _WIDEST_PATH)
    for field in rows:
        line = f"{field.path:<{width}}  {field.outcome:<7}  {_describe(field)}"
        print(f"  {escape_controls(line)}", file=sys.stderr)
    for note in conversion.notes:
        print(f"  note: {escape_controls(note)}", file=sys.stderr)


def _describe(field: FieldReport) -> str:
    return f"{field.target}: {field.reason}" if field.target else field.reason


def _to_json(each: SourceConversion) -> dict[str, object]:
    conversion = each.conversion
    return {
        "file": each.source,
        "line": each.line,
        "resource": conversion.resource,
        "status": conversion.status.value,
        "fields": [asdict(field) for field in conversion.fields],
        "notes": list(conversion.notes),
        "problems": [{"path": problem.path, "message": problem.message} for problem in conversion.problems],
    }
