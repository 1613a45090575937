"""The values of `--set`: YAML, except that a field of type string keeps the text as it was written."""

from collections.abc import Callable, Sequence

from airflow_provider_spark_operator.cli.field_tree import Field, build_kubeflow_tree, build_tree
from airflow_provider_spark_operator.core.dialects.kubeflow import GROUP
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.kube.yaml_text import Plain, YamlError, load_all, read_plain, read_word


def read_value(text: str, read: Callable[[str], Plain] = read_plain) -> object:
    """Return the value of a text in YAML.

    Args:
        text: The text.
        read: Returns the value of a scalar without quotes.

    Raises:
        ValueError: The text is not YAML. The message completes the sentence that begins with the assignment.
    """
    try:
        values = list(load_all(text, read=read))
    except (YamlError, RecursionError):
        raise ValueError(f"the value {text!r} is not YAML; put it in quotes") from None
    return values[0] if len(values) == 1 else text


def read_value_at(document: JsonObject, path: Sequence[str | int], text: str) -> object:
    """Return the value of a text for a field, so that `spec.sparkConf.a=1` is the string `1`.

    Args:
        document: The application or cluster, which tells the kind of the resource.
        path: The path of the field.
        text: The value in YAML. `null` is None for each type.

    Raises:
        ValueError: The text is not YAML.
    """
    is_text = _find_type(document, path) in ("string", "list of strings", "map of strings")
    return read_value(text, read_word if is_text else read_plain)


def _find_type(document: JsonObject, path: Sequence[str | int]) -> str:
    """Return the type of the field at a path; empty if it is not known."""
    field = _find_tree(document)
    name = field.type_name
    for step in path:
        if name.startswith(("list of ", "map of ")):
            name = name.partition(" of ")[2].removesuffix("s")
            continue
        inner = field.list_fields().get(str(step))
        if inner is None:
            return ""
        field, name = inner, inner.type_name
    return name


def _find_tree(document: JsonObject) -> Field:
    if str(document.get("apiVersion")).startswith(f"{GROUP}/"):
        return build_kubeflow_tree()
    return build_tree("SparkCluster" if document.get("kind") == "SparkCluster" else "SparkApplication")
