"""Manifests of applications: of a stored one, and with another name."""

from collections.abc import Mapping
from typing import Any, Final

from ..kubernetes.json_object import JsonObject, change_texts
from ..kubernetes.names import ANNOTATION_CLAIM, ANNOTATION_LAST_APPLIED, ANNOTATION_STOPPED_POLICY, LABEL_TASK
from ..kubernetes.pods import get_object, get_text, list_objects
from ..spark.spark_conf import EXECUTOR_PREFIX_KEY, NAME_KEY
from .files import build_config_map_name

_NAME_KEYS: Final = (NAME_KEY, "spark.kubernetes.driver.pod.name", EXECUTOR_PREFIX_KEY)
_KEPT: Final = ("name", "namespace", "labels", "annotations")
# The annotations and the label of the task that submitted an application.
_TASK_PREFIX: Final = LABEL_TASK.rpartition("/")[0] + "/"


def rename_derived_objects(document: Mapping[str, object], name: str) -> JsonObject:
    """Return a manifest in which the names that derive from its own name derive from another one.

    These are names of its ConfigMaps, with the references to them, and Spark properties for the names of pods. Two
    applications with the same names for them cannot exist at the same time.

    Args:
        document: The manifest. It stays unchanged.
        name: The new name. The name in the metadata stays.
    """
    spec, old = document.get("spec"), get_text(get_object(document.get("metadata")).get("name"))
    if not old or old == name or not isinstance(spec, Mapping):
        return dict(document)
    maps = [get_text(each.get("name")) for each in list_objects(spec.get("configMapSpecs"))]
    # The names of shipped files contain the first 46 characters of the name of the application.
    derived = [each for each in maps if each.startswith(f"{old[:46].rstrip('-')}-")]
    names = {each: build_config_map_name(name, (), f"{name}/{each}") for each in derived}
    changed = change_texts(spec, lambda text: names.get(text, text))
    conf = dict(get_object(changed.get("sparkConf")))
    for key in _NAME_KEYS:
        value = get_text(conf.get(key))
        if value == old or value.startswith(f"{old}-"):
            conf[key] = name + value.removeprefix(old)
    return {**document, "spec": {**changed, "sparkConf": conf} if conf else changed}


def is_stored(document: Mapping[str, Any]) -> bool:
    """Return whether a document was read from an API server, which sets the uid."""
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and "uid" in metadata


def build_manifest(stored: Mapping[str, Any]) -> JsonObject:
    """Return an application without its status and its history. It belongs to no task and to no controller.

    Args:
        stored: The application as the API returned it.
    """
    metadata = {key: stored["metadata"][key] for key in _KEPT if key in stored["metadata"]}
    for part in ("labels", "annotations"):
        if isinstance(metadata.get(part), Mapping):
            metadata[part] = {key: value for key, value in metadata[part].items() if not _is_foreign(str(key))}
    return {
        "apiVersion": stored.get("apiVersion"),
        "kind": stored.get("kind"),
        "metadata": metadata,
        "spec": stored.get("spec"),
    }


def _is_foreign(key: str) -> bool:
    return key.startswith(_TASK_PREFIX) or key in (ANNOTATION_LAST_APPLIED, ANNOTATION_CLAIM, ANNOTATION_STOPPED_POLICY)
