"""The validation of resources of any kind, for all commands, operators, the webhook and the controller."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes.names import GROUP
from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem
from ..models.parse import name_type
from .application import validate_application
from .identity import find_metadata_problems, find_namespace_problems, report_unknown_word
from .json_values import find_json_problems

_KINDS: Final = ("SparkApplication", "SparkCluster")


def validate(document: object) -> list[Problem]:
    """Return all problems of `document` as a resource of its kind; empty if it is valid.

    Returns:
        The problems. `Problem.severity` distinguishes errors, which prevent a submission, from warnings.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a resource must be an object, not {name_type(document)}")]
    if (problems := _validate_without_model(document)) is not None:
        return problems
    kind = document.get("kind")
    if kind == "SparkApplication":
        return validate_application(document)
    if kind == "SparkCluster":
        # Most documents are applications. They do not need the models of clusters, which take long to import.
        from .cluster import validate_cluster  # noqa: PLC0415

        return validate_cluster(document)
    return [report_unknown_word("kind", kind, _KINDS)]


def validate_without_status(document: object) -> list[Problem]:
    """Validate like `validate`, without the status and the managed fields.

    The callers drop them, or read them from the API server, which writes them.
    """
    if isinstance(document, Mapping):
        document = {key: value for key, value in document.items() if key != "status"}
        metadata = get_object(document.get("metadata"))
        if "managedFields" in metadata:
            document["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return validate(document)


def _validate_without_model(document: Mapping[str, object]) -> list[Problem] | None:
    """Return the problems of a document that no model describes; None if there is a model."""
    api_version = document.get("apiVersion")
    if str(api_version).partition("/")[0] == GROUP:
        return None
    # The dialects take as long to import as the models. Most documents do not need them.
    from ..dialects.dialect import dialect_of  # noqa: PLC0415

    dialect = dialect_of(api_version)
    if dialect.has_model:
        return None
    if problems := find_json_problems(document):
        return problems
    metadata = get_object(document.get("metadata"))
    return [*dialect.find_problems(document), *find_namespace_problems(metadata), *find_metadata_problems(metadata)]
