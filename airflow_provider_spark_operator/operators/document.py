"""Read the document of a resource as an operator is given it: an object, its text, or the path of a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard

from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.core.compose.document import complete_kind, new_application
from airflow_provider_spark_operator.core.identity import APPLICATION_IDENTITY, CLUSTER_IDENTITY
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

if TYPE_CHECKING:
    import jinja2

_KINDS = {"application": APPLICATION_IDENTITY.kind, "cluster": CLUSTER_IDENTITY.kind}
FILE_EXTENSIONS = (".yaml", ".yml", ".json")


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


def parse_application(source: object, api_version: str | None) -> JsonObject:
    """Return the rendered document of an application as a new object, with its kind.

    Args:
        source: An object, a model, YAML or JSON text, or None for a document without any field.
        api_version: The apiVersion of a document that names none. None for `spark.apache.org/v1` without a document.

    Raises:
        InvalidResource: The source is not an application, or names another apiVersion.
    """
    if source is None:
        return new_application(api_version)
    return complete_kind(parse(source), api_version)


def parse(source: object, noun: str = "application") -> JsonObject:
    """The rendered document of an operator as an object of its own, which the caller may change.

    Args:
        source: An object, a model, or YAML or JSON text.
        noun: What it is, for messages.

    Raises:
        InvalidResource: The source is not an object, not valid YAML, or of another kind.
    """
    import copy

    value = source.to_document() if is_model(source) else _load(source, noun) if isinstance(source, str) else source
    if not isinstance(value, Mapping):
        message = f"must be an object with apiVersion, kind, metadata and spec, not {_type_name(value)}"
        raise InvalidResource([Problem("", message)])
    if value.get("kind") not in (None, _KINDS[noun]):
        raise InvalidResource([Problem("kind", f"must be {_KINDS[noun]}, not {value['kind']!r}")])
    return copy.deepcopy(dict(value))


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
        raise InvalidResource([Problem("", f"invalid YAML{place}: {problem}")]) from None
    if len(documents) != 1:
        raise InvalidResource([Problem("", f"has {len(documents)} documents: give exactly one, a {_KINDS[noun]}")])
    return documents[0]


def _type_name(value: object) -> str:
    words = {str: "a string", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else words.get(type(value), f"a {type(value).__name__}")
