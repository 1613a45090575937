"""A server with the definition of each operator stores every field that the parameters of a task write."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from tests.contract.reduce_definition import compose_every
from tests.contract.test_crds import find_lost_fields

from contract.conversation import Conversation
from contract.documents import DEFINITIONS

FOLDER = Path(__file__).parents[1] / "golden" / "definitions"
OURS = "ours"


def build_definition(name: str) -> tuple[dict[str, Any], str, str]:
    """Return the definition of an operator, with the group and version of the applications to write.

    The definition has a group of its own, so that a server can have those of several operators.
    """
    if name == OURS:
        definition, *_ = (
            one for one in build_custom_resource_definitions() if one["spec"]["names"]["kind"] == "SparkApplication"
        )
        group, version = definition["spec"]["group"], "v1"
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    else:
        reduced = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
        group, version, schema = reduced["group"], reduced["version"], reduced["spec"]
    own_group = f"{name}.definitions.example.com"
    names = {"kind": "SparkApplication", "listKind": "SparkApplicationList", "plural": "sparkapplications"}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    }
    made = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{own_group}"},
        "spec": {
            "group": own_group,
            "scope": "Namespaced",
            "names": names | {"singular": "sparkapplication"},
            "versions": [served],
        },
    }
    return made, group, version


@pytest.mark.parametrize("name", [OURS, "apache", "kubeflow"])
async def test_every_parameter_is_stored_completely(conversation: Conversation, name: str) -> None:
    definition, group, version = build_definition(name)
    own = f"{definition['spec']['group']}/{version}"
    assert (await conversation.ask("POST", DEFINITIONS, definition)).status in (201, 409)
    path = conversation.path("sparkapplications", own)
    await conversation.until(path, lambda reply: reply.status == 200)
    sent = compose_every(group, version) | {"apiVersion": own}
    strict = await conversation.ask("POST", f"{path}?fieldValidation=Strict", sent)
    assert strict.status == 201, strict.body
    stored = await conversation.ask("GET", f"{path}/every")
    assert find_lost_fields(sent, stored.body) == []
    unknown = sent | {"metadata": {"name": "unknown"}, "spec": sent["spec"] | {"unknownField": 1}}
    refused = await conversation.ask("POST", f"{path}?fieldValidation=Strict", unknown)
    assert refused.status == 400, refused.body
    assert 'unknown field "spec.unknownField"' in refused.body["message"]
