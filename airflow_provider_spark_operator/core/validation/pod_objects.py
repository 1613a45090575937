"""Find what the API server rejects in pod templates and in the objects of an attempt."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..driver.configuration.configuration import Configuration
from ..driver.pod.template import normalize_template
from ..kubernetes.names import DATA_KEY_RULE, EXECUTOR_CONTAINER, is_data_key
from ..kubernetes.pods import get_object, list_objects
from ..kubernetes.problems import Problem
from ..kubernetes.quantities import is_quantity
from ..models.parse import format_path, name_type
from .identity import find_metadata_problems
from .kubernetes_fields import KUBERNETES_FIELDS
from .pod_rules import RULES
from .rules import Location, list_values, report

LARGEST_CONFIG_MAP: Final = 1 << 20
"""The maximum size of the values of a ConfigMap, in bytes."""

_EXECUTOR: Final = "spark.kubernetes.executor."
_TEMPLATE: Final = "core.v1.PodTemplateSpec"
_REFERENCES: Final[Mapping[str, str]] = {
    "volumeMounts.name": "volume",
    "volumeDevices.name": "volume",
    "env.valueFrom.fileKeyRef.volumeName": "emptyDir volume",
    "resources.claims.name": "resource claim",
}
"""The paths of names in a container, and what each of them names."""
# The classes of JSON values of each type, and the type in words. A type that is not listed is an object.
_SHAPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "[": ((list, tuple), "a list"),
    "{": ((Mapping,), "an object"),
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "int32": ((int,), "an integer"),
    "int64": ((int,), "an integer"),
    "int-or-string": ((int, str), "an integer or a string"),
    "quantity": ((int, float, str), "a quantity"),
}


def find_template_problems(spec: Mapping[str, object]) -> Iterator[Problem]:
    """Find the problems of the pod templates of an application."""
    for field in ("driverSpec", "executorSpec"):
        template = normalize_template(get_object(get_object(spec.get(field)).get("podTemplateSpec")))
        yield from find_value_problems(template, _TEMPLATE, ("spec", field, "podTemplateSpec"))


def build_executor_pod(conf: Mapping[str, str], application_id: str) -> dict[str, Any]:
    """Return an executor pod with the parts that the API server can reject and that Spark properties set.

    Args:
        conf: The Spark properties. The values that refer to others are left out.
        application_id: Spark's id of the attempt.
    """
    values = Configuration({key: value for key, value in conf.items() if "${" not in value}, {})
    labels = {
        key: value.replace("{{APP_ID}}", application_id).replace("{{EXECUTOR_ID}}", "1")
        for key, value in values.get_by_prefix(f"{_EXECUTOR}label.").items()
    }
    selectors = (f"spark.kubernetes.{kind}node.selector." for kind in ("", "executor."))
    request = next((conf[key] for key in (f"{_EXECUTOR}request.cores", "spark.executor.cores") if conf.get(key)), "1")
    limit = values.get_text(f"{_EXECUTOR}limit.cores")
    resources = {
        "requests": {} if "${" in request else {"cpu": request},
        "limits": {"cpu": limit} if limit else {},
    }
    secrets = values.get_by_prefix(f"{_EXECUTOR}secrets.")
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{application_id}-exec-1",
            "labels": labels,
            "annotations": values.get_by_prefix(f"{_EXECUTOR}annotation."),
        },
        "spec": {
            "nodeSelector": {key: text for each in selectors for key, text in values.get_by_prefix(each).items()},
            "volumes": [{"name": f"{name}-volume", "secret": {"secretName": name}} for name in secrets],
            "containers": [{"name": EXECUTOR_CONTAINER, "image": "unchecked", "resources": resources}],
        },
    }


def find_object_problems(objects: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Find the problems of complete pods and ConfigMaps. Their operators can still create other objects."""
    for each in objects:
        if each["kind"] == "Pod":
            problems = [*find_value_problems(each, _TEMPLATE, ()), *_find_missing_parts(each["spec"])]
        elif each["kind"] == "ConfigMap":
            problems = list(_find_config_map_problems(each["data"]))
        else:
            continue
        for problem in problems:
            message = f"the API server would reject the {each['kind']} {each['metadata']['name']}: {problem}"
            yield Problem("", message, admissible=True)


def _find_config_map_problems(data: Mapping[str, str]) -> Iterator[Problem]:
    for key in data:
        if not is_data_key(key):
            yield Problem(format_path(("data", key)), f"is not a valid key: {DATA_KEY_RULE}")
    size = sum(len(value.encode("utf-8", "surrogatepass")) for value in data.values())
    if size > LARGEST_CONFIG_MAP:
        message = f"has {size} bytes, more than the {LARGEST_CONFIG_MAP} bytes of a ConfigMap: put it into several"
        yield Problem("data", message)


def _find_missing_parts(spec: Mapping[str, object]) -> Iterator[Problem]:
    """Find missing names and images, and what containers refer to and the pod does not have."""
    volumes = list_objects(spec.get("volumes"))
    given = {
        "volume": {str(volume.get("name")) for volume in volumes},
        "emptyDir volume": {str(volume.get("name")) for volume in volumes if "emptyDir" in volume},
        "resource claim": {str(name) for _, name in list_values(spec, "resourceClaims.name")},
    }
    for field in ("initContainers", "containers"):
        for place, container in list_values(spec, field, ("spec",)):
            for name in ("name", "image"):
                if not get_object(container).get(name):
                    yield Problem(format_path((*place, name)), f"is required: give the {name} of the container")
            for path, kind in _REFERENCES.items():
                for inner, name in list_values(container, path, place):
                    if str(name) not in given[kind]:
                        message = f"names the {kind} {name!r}, which the pod does not have: add the {kind}"
                        yield Problem(format_path(inner), message)
            resources = get_object(get_object(container).get("resources"))
            names = {*get_object(resources.get("limits")), *get_object(resources.get("requests"))}
            if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
                yield Problem(format_path((*place, "resources")), "huge pages require cpu or memory: add one of them")


def find_value_problems(value: object, type_name: str, location: Location) -> Iterator[Problem]:
    """Find what the API server rejects in a value of a Kubernetes type. Unknown fields are left out.

    The errors are admissible, because an admission policy of the cluster can change the pod.

    Args:
        value: The value. Null counts as missing.
        type_name: The type, for example `core.v1.PodTemplateSpec`, or `[core.v1.Container]` for a list.
        location: The position of the value in the document.
    """
    if value is None:
        return
    name = type_name.strip("[]{}")
    shape = name if name == type_name else type_name[0]
    classes, words = _SHAPES.get(shape, _SHAPES["{"])
    if not isinstance(value, classes) or (isinstance(value, bool) and shape != "boolean"):
        advice = ": put it in quotes" if shape == "string" else ""
        yield report(location, f"must be {words}, not {name_type(value)}{advice}")
    elif shape == "quantity" and not is_quantity(value):
        yield report(location, f"{value!r} is not a quantity, such as 500m, 2 or 1.5Gi")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from find_value_problems(entry, name, (*location, index))
    elif isinstance(value, Mapping) and shape == "{":
        for key, entry in value.items():
            yield from find_value_problems(entry, name, (*location, key))
    elif isinstance(value, Mapping):
        yield from _find_object_problems(value, name, location)


def _find_object_problems(value: Mapping[str, Any], name: str, location: Location) -> Iterator[Problem]:
    if name == "meta.v1.ObjectMeta":
        yield from find_metadata_problems(value, location, admissible=True)
        return
    for rule in RULES.get(name, ()):
        yield from rule(value, location)
    fields = KUBERNETES_FIELDS[name]
    for key, inner in value.items():
        if key in fields:
            yield from find_value_problems(inner, fields[key], (*location, key))
