"""CustomResourceDefinitions of older and newer releases of the operator."""

from typing import Any

from airflow_provider_spark_operator.crds import build_custom_resource_definitions


def build_definitions(*versions: str, kinds: tuple[str, ...] = ("SparkApplication", "SparkCluster")) -> list[Any]:
    """Return definitions that serve only these versions. The first version is stored.

    A version that this package does not know has the schema of v1.
    """
    chosen = []
    for definition in build_custom_resource_definitions():
        spec = definition["spec"]
        ours = {each["name"]: each for each in spec["versions"]}
        spec["versions"] = [
            {**ours.get(name, ours["v1"]), "name": name, "storage": name == versions[0]} for name in versions
        ]
        if spec["names"]["kind"] in kinds:
            chosen.append(definition)
    return chosen
