import re
from collections import defaultdict

from kubernetes import client

from airflow_provider_spark_operator.core.driver.pod_fields import BOOLEANS, INTEGERS, OCTAL_INTEGERS, TEXT_MAPS, TEXTS

UNTYPED = {"port", "values", "fieldsV1", "creationTimestamp", "deletionTimestamp", "time"}
OF_GROUPS = {"queue", "minResources"}


def test_every_field_of_a_pod_has_its_type() -> None:
    fields = fields_of_pods()
    for known, type_ in ((TEXTS, "str"), (INTEGERS, "int"), (BOOLEANS, "bool"), (TEXT_MAPS, "dict")):
        expected = {name for name, types in fields.items() if types == {type_} and name not in UNTYPED}
        assert known - OF_GROUPS == expected
    assert {name for name, types in fields.items() if len(types) > 1} <= UNTYPED
    assert OCTAL_INTEGERS <= INTEGERS


def fields_of_pods() -> dict[str, set[str]]:
    """The names of the fields below a pod that hold no object, with the types that they have, lists as their items."""
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
