"""`spark-operator convert`: convert manifests of Kubeflow's operator, without a cluster."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from ...core.convert.conversion import Conversion, FieldReport, Outcome, Status
from ...core.convert.document import convert_document
from ..base.ages import is_time_zone
from ..base.errors import CommandError, ExitCode, print_error, print_note
from ..base.streams import escape_controls
from ..files.documents import STANDARD_INPUT, DocumentError, describe_source, read_documents
from ..options.declaration import Parameter
from ..options.options import DocumentFormat, DocumentOutput
from ..output.output import format_documents, print_documents

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
    files: Annotated[list[str], Parameter("FILE|DIR|-…", "manifests or folders with manifests; - for standard input")],
    output: DocumentOutput = DocumentFormat.YAML,
    output_directory: Annotated[
        str | None,
        Parameter(
            "--output-directory DIR",
            "folder for the results: a file for each input file, and a DAG file for each "
            "ScheduledSparkApplication (default: print the manifests)",
        ),
    ] = None,
    report: Annotated[
        ReportFormat, Parameter("--report text|json", "format of the report on standard error")
    ] = ReportFormat.TEXT,
) -> ExitCode:
    """Convert manifests of Kubeflow's operator to `spark.apache.org/v1`.

    A SparkApplication becomes a SparkApplication of the new group, and a ScheduledSparkApplication becomes a DAG file.
    Other resources are passed through unchanged. Comments are not kept.

    The report on standard error says which fields are changed, dropped or added, and why. The JSON report also lists
    the fields that are converted without a change. The exit code is 2 if a document is refused.

    Examples:
        # Convert a manifest, and read the report
        spark-operator convert pi.yaml > pi-apache.yaml

        # Convert all manifests of a folder
        spark-operator convert manifests/ --output-directory converted/

        # Convert the applications of a cluster
        kubectl get sparkapplications.sparkoperator.k8s.io -o yaml | spark-operator convert -

        # Write the report as JSON
        spark-operator convert pi.yaml --report json 2> report.json
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
    explained: set[FieldReport] = set()
    for each in conversions:
        _report_text(each, explained)


def _report_text(each: SourceConversion, explained: set[FieldReport]) -> None:
    """Print what became of a document. Fields that were added for a reason that is printed already share one line."""
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
    fields = [field for field in conversion.fields if field.outcome is not Outcome.EXACT]
    rows = [field for field in fields if field.outcome is not Outcome.ADDED or field not in explained]
    repeated = len(fields) - len(rows)
    explained.update(rows)
    width = min(max((len(field.path) for field in rows), default=0), _WIDEST_PATH)
    for field in rows:
        line = f"{field.path:<{width}}  {field.outcome:<7}  {_describe(field)}"
        print(f"  {escape_controls(line)}", file=sys.stderr)
    if repeated:
        print(f"  {repeated} fields are added as in a document above, for the same reasons", file=sys.stderr)
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


_SUFFIXES = (".json", ".yaml", ".yml")


def list_files(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return the path of each input file, and its path relative to the named folder or file.

    Args:
        paths: Files, folders, or `-`. The files of a folder are those that end in .yaml, .yml or .json, at any depth.

    Raises:
        CommandError: A folder contains no manifest.
    """
    found = []
    for path in paths:
        if path == STANDARD_INPUT or not Path(path).is_dir():
            found.append((path, "stdin.yaml" if path == STANDARD_INPUT else Path(path).name))
            continue
        files = sorted(file for file in Path(path).rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise CommandError(f"{path}: contains no file that ends in {', '.join(_SUFFIXES)}", ExitCode.INVALID)
        found += [(str(file), str(file.relative_to(path))) for file in files]
    return found


def write_files(directory: Path, conversions: Sequence[tuple[str, Conversion]], output: DocumentFormat) -> list[str]:
    """Write the converted documents, and return the paths of the files.

    Args:
        directory: The folder, which is created if it does not exist.
        conversions: The conversions with the relative paths of their input files.
        output: The format of the manifests.

    Raises:
        CommandError: A file exists, two inputs have the same name, or a file cannot be written.
    """
    texts: dict[Path, str] = {}
    documents: dict[Path, list[Conversion]] = {}
    for name, conversion in conversions:
        if conversion.dag is not None:
            _add_text(texts, directory / f"{conversion.dag_id}.py", conversion.dag)
        else:
            documents.setdefault((directory / name).with_suffix(f".{output}"), []).append(conversion)
    for path, group in documents.items():
        _add_text(texts, path, format_documents([each.document for each in group if each.document], output))
    present = [str(path) for path in texts if path.exists()]
    if present:
        raise CommandError(f"{present[0]}: already exists. Delete it, or choose another folder", ExitCode.INVALID)
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path}: cannot be written: {error.strerror}", ExitCode.INVALID) from None
    return [str(path) for path in texts]


def _add_text(texts: dict[Path, str], path: Path, text: str) -> None:
    if path in texts:
        raise CommandError(
            f"{path}: two documents would be written to this file. Convert them separately", ExitCode.INVALID
        )
    texts[path] = text
