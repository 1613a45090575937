"""The document of a resource as an operator is given it: an object, its text, or the path of a file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from airflow.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    import jinja2

JsonObject: TypeAlias = dict[str, Any]

API_VERSION = "spark.apache.org/v1"
_KINDS = {"application": "SparkApplication", "cluster": "SparkCluster"}
FILE_EXTENSIONS = (".yaml", ".yml", ".json")
# Services are named after the application: RFC 1035. Names with template expressions are checked once rendered.
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_LONGEST_NAME = 63
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


class Model(Protocol):
    """What a resource's pydantic model offers; asked for by shape, so that no model is imported to parse a DAG."""

    def to_document(self) -> JsonObject:
        """The resource as JSON values."""
        ...


def is_model(value: object) -> TypeGuard[Model]:
    """Whether `value` is a resource's model."""
    return not isinstance(value, type) and callable(getattr(value, "to_document", None))


def may_be_file(source: object) -> bool:
    """Whether `source` may come out as the name of a file once it is rendered: one line, or another task's result."""
    from airflow.sdk import XComArg

    return isinstance(source, XComArg) or (isinstance(source, str) and "\n" not in source)


def is_file_name(text: str) -> bool:
    """Whether `text` names a file rather than being a document itself."""
    return "\n" not in text and text.endswith(FILE_EXTENSIONS)


def read_source(path: str, environment: "jinja2.Environment", noun: str = "application") -> str:
    """The text of the file `path`, its template expressions not yet rendered.

    Args:
        path: Absolute, or relative to the DAG's folder or its `template_searchpath`.
        environment: The DAG's; its loader knows these folders.
        noun: What the file holds, for messages.

    Raises:
        AirflowFailException: There is no such file, or it cannot be read.
    """
    from jinja2 import TemplateNotFound

    try:
        if Path(path).is_absolute():
            return Path(path).read_text(encoding="utf-8")
        if environment.loader is None:
            raise TemplateNotFound(path)
        return environment.loader.get_source(environment, path)[0]
    except TemplateNotFound as error:
        looked = ", ".join(folders(environment)) or "no folder"
        raise AirflowFailException(f"{noun} file {path!r} is not there; looked in {looked}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise AirflowFailException(f"{noun} file {path!r} cannot be read: {reason}") from error


def folders(environment: "jinja2.Environment") -> list[str]:
    """Where files of the DAG are looked for: its own folder, then its `template_searchpath`."""
    return [str(folder) for folder in getattr(environment.loader, "searchpath", ())]


def blank(api_version: str | None = None) -> JsonObject:
    """A SparkApplication that says nothing yet."""
    return {"apiVersion": api_version or API_VERSION, "kind": "SparkApplication", "spec": {}}


def application_of(source: object, api_version: str | None) -> JsonObject:
    """The rendered document of an application as an object of its own, with its kind.

    Args:
        source: An object, a model, YAML or JSON text, or None for a document that says nothing yet.
        api_version: The apiVersion of a document that names none. None for `spark.apache.org/v1` without a document.

    Raises:
        AirflowFailException: The source is no application, or names another apiVersion.
    """
    if source is None:
        return blank(api_version)
    document = parse(source)
    named = document.get("apiVersion")
    if api_version and named not in (None, api_version):
        raise AirflowFailException(
            f"apiVersion of the application is {named!r}, but api_version is {api_version!r}: leave one of them out"
        )
    if named is None and api_version:
        document["apiVersion"] = api_version
    if document.get("kind") is None:
        document["kind"] = _KINDS["application"]
    return document


def parse(source: object, noun: str = "application") -> JsonObject:
    """The rendered document of an operator as an object of its own, which the caller may change.

    Args:
        source: An object, a model, or YAML or JSON text.
        noun: What it is, for messages.

    Raises:
        AirflowFailException: It is no object, or no YAML, or of another kind.
    """
    import copy

    value = source.to_document() if is_model(source) else _load(source, noun) if isinstance(source, str) else source
    if not isinstance(value, Mapping):
        raise AirflowFailException(
            f"{noun} must be an object with apiVersion, kind, metadata and spec, not {_named(value)}"
        )
    if value.get("kind") not in (None, _KINDS[noun]):
        raise AirflowFailException(f"{noun}: kind must be {_KINDS[noun]}, not {value['kind']!r}")
    return copy.deepcopy(dict(value))


def overlay(document: JsonObject, *, name: str | None, namespace: str | None) -> JsonObject:
    """`document` with the operator's own parameters put over what it says.

    Raises:
        AirflowFailException: Its metadata is no object, or a name is no Kubernetes name.
    """
    metadata = document.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise AirflowFailException(f"metadata: must be an object, not {_named(metadata)}")
    given = {"name": name, "namespace": namespace}
    metadata = metadata | {key: value for key, value in given.items() if value}
    for problem in (name_problem(metadata.get("name")), namespace_problem(metadata.get("namespace"))):
        if problem:
            raise AirflowFailException(problem)
    return document | {"metadata": metadata}


def name_problem(name: object, owner: str = "an application", longest: int = _LONGEST_NAME) -> str | None:
    """What is wrong with `name`; None where nothing is, or nothing is known yet.

    Args:
        name: To be checked.
        owner: What it names, for the message.
        longest: How many characters it may have.
    """
    if name is None or (isinstance(name, str) and len(name) <= longest and _NAME.match(name)):
        return None
    return (
        f"name {name!r} is no name for {owner}: at most {longest} lower case letters, digits and -, "
        "beginning with a letter and ending with a letter or digit"
    )


def namespace_problem(namespace: object) -> str | None:
    """What is wrong with `namespace`; None where nothing is."""
    if namespace is None or (isinstance(namespace, str) and _NAMESPACE.match(namespace)):
        return None
    return (
        f"namespace {namespace!r} is no name for a namespace: at most 63 lower case letters, digits and -, "
        "beginning and ending with a letter or digit"
    )


def _load(text: str, noun: str) -> object:
    import yaml

    from airflow_provider_spark_operator.kube.bounded_yaml import load_all

    try:
        documents = [one for one in load_all(text) if one is not None]  # JSON is YAML
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        # The error itself shows the line, and with it what may be a secret.
        raise AirflowFailException(f"{noun} is no valid YAML{place}: {problem}") from None
    if len(documents) != 1:
        raise AirflowFailException(f"{noun} holds {len(documents)} documents; give exactly one, a {_KINDS[noun]}")
    return documents[0]


def _named(value: object) -> str:
    words = {str: "a string", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else words.get(type(value), f"a {type(value).__name__}")
