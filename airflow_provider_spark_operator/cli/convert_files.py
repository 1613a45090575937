"""The input and output files of `convert`."""

from collections.abc import Sequence
from pathlib import Path

from airflow_provider_spark_operator.cli.documents import STANDARD_INPUT
from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import DocumentFormat
from airflow_provider_spark_operator.cli.output import format_documents
from airflow_provider_spark_operator.core.convert.report import Conversion

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
