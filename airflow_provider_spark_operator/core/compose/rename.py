"""Give the manifest of an application another name, so that both can run at the same time."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes.json_object import JsonObject, change_texts
from ..kubernetes.pods import get_object, get_text, list_objects
from ..spark.spark_conf import EXECUTOR_PREFIX_KEY, NAME_KEY
from .files import build_config_map_name

_NAME_KEYS: Final = (NAME_KEY, "spark.kubernetes.driver.pod.name", EXECUTOR_PREFIX_KEY)


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
