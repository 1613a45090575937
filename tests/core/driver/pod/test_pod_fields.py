import re
from collections import defaultdict

from kubernetes import client

from airflow_provider_spark_operator.core.driver.pod.template import (
    BOOLEANS,
    INTEGERS,
    OCTAL_INTEGERS,
    TEXT_MAPS,
    TEXTS,
)

UNTYPED = {"port", "values", "fieldsV1", "creationTimestamp", "deletionTimestamp", "time"}
OF_GROUPS = {"queue", "minResources"}


def test_all_fields_of_a_pod_have_the_types_of_the_client() -> None:
    fields = list_pod_fields()
    for known, type_ in ((TEXTS, "str"), (INTEGERS, "int"), (BOOLEANS, "bool"), (TEXT_MAPS, "dict")):
        expected = {name for name, types in fields.items() if types == {type_} and name not in UNTYPED}
        assert known - OF_GROUPS == expected
    assert {name for name, types in fields.items() if len(types) > 1} <= UNTYPED
    assert OCTAL_INTEGERS <= INTEGERS


def list_pod_fields() -> dict[str, set[str]]:
    """Return the names and types of all fields of a pod that are not objects. For a list, the type is that of its
    items.
    """
    fields: dict[str, set[str]] = defaultdict(set)
    waiting, seen = ["V1PodSpec", "V1ObjectMeta"], set()
    while waiting:
        model = waiting.pop()
        if model in seen:
            continue
        seen.add(model)
        of_model = getattr(client, model)
        for attribute, type_ in of_model.openapi_types.items():
            item = re.sub(r"^list\[(.*)\]$", r"\1", type_)
            if hasattr(client, item):
                waiting.append(item)
            else:
                fields[of_model.attribute_map[attribute]].add("dict" if item.startswith("dict") else item)
    return fields
