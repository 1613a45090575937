"""CustomResourceDefinitions as other operators, earlier and later ones, install them."""

from typing import Any

from airflow_provider_spark_operator.crds import custom_resource_definitions


def definitions_serving(*versions: str, kinds: tuple[str, ...] = ("SparkApplication", "SparkCluster")) -> list[Any]:
    """Definitions that serve these versions only; the first is stored. A version that is not ours is as v1."""
    chosen = []
    for definition in custom_resource_definitions():
        spec = definition["spec"]
        ours = {each["name"]: each for each in spec["versions"]}
        spec["versions"] = [
            {**ours.get(name, ours["v1"]), "name": name, "storage": name == versions[0]} for name in versions
        ]
        if spec["names"]["kind"] in kinds:
            chosen.append(definition)
    return chosen
