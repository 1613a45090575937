"""Makes docs/crds.md from the CustomResourceDefinitions and the models; `python docs/list_fields.py` writes it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.crds import custom_resource_definitions

FOLDER = Path(__file__).parent
_MODELS: Final[Mapping[str, type[BaseModel]]] = {"SparkApplication": SparkApplication, "SparkCluster": SparkCluster}

_INTRODUCTION = """\
# Fields of the resources

`spark-operator crds` prints the CustomResourceDefinitions, generated from the package's models. They accept what
those of the Apache operator accept; of their own they have `spec.suspend` and the `reason` of a state. Versions v1
(stored), v1beta1 and v1alpha1 are served with one schema, so that no document needs to be converted.

Made by `python docs/list_fields.py`. A default is what is assumed where a field is absent. Durations are whole
milliseconds. Timeouts of 0 or less are off, and so are negative values of `resourceRetainDurationMillis` and
`ttlAfterStopMillis`; a backoff or grace period of 0 or less is none. Objects without fields below are Kubernetes' own
types, and are kept as they are.
"""


def page() -> str:
    """The page docs/crds.md."""
    lines = [_INTRODUCTION]
    for definition in custom_resource_definitions():
        kind = definition["spec"]["names"]["kind"]
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        lines += [f"## {kind}", "", f"Short name `{definition['spec']['names']['shortNames'][0]}`.", ""]
        lines += ["| Field | Type | Default |", "|---|---|---|"]
        lines += [
            f"| `{path}` | {_type(part)} | {default} |" for path, part, default in _fields(schema, _defaults(kind))
        ]
        lines.append("")
    return "\n".join(lines)


def _defaults(kind: str) -> dict[str, Any]:
    """The spec that a resource has which says as little as it may."""
    least: dict[str, Any] = {"runtimeVersions": {"sparkVersion": ""}}
    if kind == "SparkCluster":
        counts = dict.fromkeys(("initWorkers", "minWorkers", "maxWorkers"), 0)
        least = {**least, "clusterTolerations": {"instanceConfig": counts}}
    model = _MODELS[kind].model_validate({"metadata": {}, "spec": least})
    defaults: dict[str, Any] = model.model_dump(mode="json", by_alias=True)["spec"]
    return defaults


def _fields(schema: Mapping[str, Any], defaults: object, path: str = "spec") -> Iterator[tuple[str, Any, str]]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        default = defaults.get(name) if isinstance(defaults, Mapping) else None
        items = part.get("items", {})
        inner = f"{path}.{name}" + ("[]" if items.get("properties") else "")
        yield inner, part, "required" if name in required else _shown(default)
        yield from _fields(items if items.get("properties") else part, default, inner)


def _shown(default: object) -> str:
    if default is None or isinstance(default, dict | list):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _type(part: Mapping[str, Any]) -> str:
    if words := part.get("enum"):
        return ", ".join(words)
    if part["type"] == "array":
        return f"list of {_type(part['items'])}s"
    values = part.get("additionalProperties")
    return f"map of {_type(values)}s" if isinstance(values, Mapping) else str(part["type"])


def main() -> None:
    """Write the page."""
    (FOLDER / "crds.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
