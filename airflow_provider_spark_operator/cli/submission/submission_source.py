"""The application that a command line describes: a manifest or a program, options, and assignments."""

import importlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ...core.compose.application import TaskSettings, apply_parameters
from ...core.compose.manifest import build_manifest, is_stored, rename_derived_objects
from ...core.compose.sql import SQL_EXTENSION, SqlFormat
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import DEFAULT_API_VERSION
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.parameters.parameter_problems import find_problems
from ...core.parameters.parameters import DECLARATIONS, NAMES, Parameters
from ...core.spark.installation import advise_installation
from ...follow.access.reference import ApplicationReference, NameTaken
from ...follow.submission.composition import Composition
from ...follow.submission.document import read_document
from ...follow.submission.shipment import FileUnavailable, UploadFailed, WriteObject
from ...follow.submission.stamp import NO_TASK
from ..base.errors import CommandError, ExitCode, print_note
from ..base.object_names import derive_name
from ..base.program_name import get_program_name
from ..files.documents import DocumentError, describe_source, read_documents, require_file, split_list
from ..options.assignment import assign, parse_assignment, read_value_at


def write_object(folder: str, place: str, content: bytes) -> bool:
    """Write a file into a folder of a store, unless it exists. See `follow.submission.composition.WriteObject`.

    Raises:
        RuntimeError: fsspec is not installed.
        Exception: Each store has its own exceptions.
    """
    try:
        core = importlib.import_module("fsspec.core")
    except ModuleNotFoundError:
        raise RuntimeError(f"missing package fsspec. To install it, {advise_installation('files')}") from None
    filesystem, root = core.url_to_fs(folder)
    path = f"{root.rstrip('/')}/{place}"
    if filesystem.exists(path):
        return False
    filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
    filesystem.pipe_file(path, content)
    return True


_FLAGS: Final = {
    name: (DECLARATIONS[name].flag if name in NAMES else "") or f"--{name.replace('_', '-')}"
    for name in (*NAMES, "upload_to", "api_version")
}


@dataclass(frozen=True)
class Request:
    """What to submit.

    Attributes:
        file: A manifest, `-` for standard input, or a program: a Python script or a jar, local or as a URI.
        name: The name. None for that of the manifest, or for a new name after the program.
        values: Values of parameters by their names.
        settings: Further settings.
        assignments: Texts `path=value`, applied last.
        upload_to: URL of a folder for files that the application cannot contain. None if nothing is uploaded.
        download_from: The same folder as the driver reads it.
        api_version: The apiVersion of a program. None for that of spark.apache.org.
        sql_format: How the driver prints the result of the last SQL statement.
    """

    file: str
    name: str | None
    values: dict[str, Any]
    settings: TaskSettings
    assignments: Sequence[str]
    upload_to: str | None
    download_from: str | None
    api_version: str | None
    sql_format: str = SqlFormat.TABLE


def compose_request(request: Request, write: WriteObject = write_object) -> JsonObject:
    """Return the application. Reads its files, and uploads those that it cannot contain.

    Args:
        request: What to submit.
        write: Uploads a file. By default, into its object store.

    Raises:
        CommandError: A file cannot be read or uploaded.
        InvalidResource: The manifest or a parameter is not valid.
    """
    try:
        with name_options():
            document = _compose(request, write)
    except FileUnavailable as error:
        raise CommandError(str(error), ExitCode.INVALID) from None
    except UploadFailed as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    return _assign_values(document, request.assignments)


def compose_named_request(request: Request, use: str, write: WriteObject = write_object) -> JsonObject:
    """Return the application, like `compose_request`, if each submission of it has the same name.

    Args:
        request: What to submit.
        use: What the name is needed for, for messages.
        write: Uploads a file.

    Raises:
        CommandError: Each submission has another name, or a file cannot be read or uploaded.
        InvalidResource: The manifest or a parameter is not valid.
    """
    if request.name is None and _is_program(request.file):
        raise CommandError(
            f"{request.file} is a program, and each submission of it creates an application with a new name. Add "
            f"--name NAME to name the application {use}",
            ExitCode.INVALID,
        )
    document = compose_request(request, write)
    metadata = document.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("generateName") and not metadata.get("name"):
        source = describe_source(request.file)
        raise CommandError(
            f"{source}: metadata.name: is required: add the name of the application {use}", ExitCode.INVALID
        )
    return document


def override(document: JsonObject, values: dict[str, Any], assignments: Sequence[str]) -> JsonObject:
    """Return a document with the values of options.

    Args:
        document: The document. It stays unchanged.
        values: Values of parameters by their names.
        assignments: Texts `path=value` of `--set`, applied last.

    Raises:
        InvalidResource: A parameter is not valid, or a path leads into a value that is not an object or not a list.
    """
    with name_options():
        document = apply_parameters(document, Parameters(**values))
    return _assign_values(document, assignments)


def upload_nothing(*_: object, **__: object) -> bool:
    """Upload no file. See `write_object`."""
    return False


def _assign_values(document: JsonObject, assignments: Sequence[str]) -> JsonObject:
    for text in assignments:
        path, value = parse_assignment(text)
        document = assign(document, path, read_value_at(document, path, value))
    return document


def _compose(request: Request, write: WriteObject) -> JsonObject:
    values = dict(request.values)
    if _is_program(request.file):
        if ":/" not in request.file:
            require_file(request.file)
        name = request.name or _build_name(request.file)
        document = read_document(None, request.api_version, name=name, namespace=None)
        values = _add_program(request.file, values)
        problems = find_problems(Parameters(**values), alone=True)
        if problems:
            raise InvalidResource(problems)
    else:
        manifest = _read_manifest(request.file)
        if request.name and isinstance(manifest, Mapping):
            manifest = rename_derived_objects(manifest, request.name)
        document = read_document(manifest, request.api_version, name=request.name, namespace=None)
    composition = Composition(
        document={**document, "apiVersion": document.get("apiVersion") or DEFAULT_API_VERSION},
        parameters=Parameters(**values),
        settings=request.settings,
        folders=[str(Path.cwd())],
        upload_to=request.upload_to,
        download_from=request.download_from,
        sql_output=request.sql_format,
    )
    return composition.compose(write)


def _read_manifest(file: str) -> object:
    """Return the only manifest of a file. A stored application, as the API returns it, becomes a manifest.

    Raises:
        DocumentError: The file cannot be read, or does not contain one manifest.
    """
    documents = list(read_documents(file))
    manifests = [item for each in documents for item in split_list(each)]
    if len(manifests) != 1:
        problem = f"contains {len(manifests)} manifests; it must contain one SparkApplication"
        raise DocumentError(documents[0].source, problem)
    content = manifests[0].content
    if not isinstance(content, Mapping) or not is_stored(content):
        return content
    print_note(f"{file} was read from a cluster: its status and the metadata that the API has set are left out")
    return build_manifest(content)


def _is_program(file: str) -> bool:
    return file.endswith((".py", ".jar", SQL_EXTENSION))


def _add_program(file: str, values: dict[str, Any]) -> dict[str, Any]:
    if file.endswith(".jar"):
        return {**values, "jars": [file, *(values.get("jars") or ())]}
    parameter = "sql" if file.endswith(SQL_EXTENSION) else "py_file"
    if values.get(parameter):
        option, noun = ("--sql", "an SQL file") if parameter == "sql" else ("--py-file", "a script")
        raise CommandError(f"{option} cannot be combined with {noun}: leave one of them out", ExitCode.INVALID)
    return {**values, parameter: file}


def _build_name(file: str) -> str:
    """Return a new name, so that a program can be submitted again while its earlier application exists."""
    return f"{derive_name(file)}-{secrets.token_hex(3)}"


@contextmanager
def name_options() -> Iterator[None]:
    """Name options instead of parameters in the problems of an InvalidResource."""
    try:
        yield
    except InvalidResource as error:
        raise InvalidResource([_name_option(problem) for problem in error.problems]) from None


def _name_option(problem: Problem) -> Problem:
    """Return a problem whose text names options instead of parameters."""

    def rename(match: re.Match[str]) -> str:
        return _FLAGS.get(match[0], match[0])

    parameter, separator, rest = problem.path.partition(".")
    base, bracket, index = parameter.partition("[")
    path = f"{_FLAGS[base]}{bracket}{index}{separator}{rest}" if base in _FLAGS else problem.path
    return replace(problem, path=path, message=re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", rename, problem.message))


def describe_taken_name(error: NameTaken) -> str:
    """Return why an application could not be submitted under a name, and what to do."""
    owner = "" if error.owner == NO_TASK else f" and belongs to {error.owner}"
    return f"{error.reference} already exists{owner}; it {error.state}. {advise_on_name(error.reference)}"


def advise_on_name(present: ApplicationReference) -> str:
    """Return how to submit an application although another one has its name."""
    command = f"{get_program_name()} delete {present.name} -n {present.namespace} --wait"
    return f"Delete it with `{command}`, replace it with `submit --replace`, or set another name with --name"
