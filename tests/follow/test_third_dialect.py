"""An application of a dialect that only its class describes is submitted, adopted and read."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import TaskSettings, compose_application
from airflow_provider_spark_operator.core.compose.document import new_application
from airflow_provider_spark_operator.core.dialects import dialect as dialects
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.follow.submission.submit import submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.core.dialects.third import API_VERSION, THIRD
from tests.follow.applications import build_stamp


def build_definition() -> dict[str, Any]:
    names = {"plural": "sparkapplications", "singular": "sparkapplication", "kind": "SparkApplication"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{THIRD.group}"},
        "spec": {
            "group": THIRD.group,
            "names": {**names, "listKind": "SparkApplicationList"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def test_application_is_submitted_adopted_and_read(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialects, "DIALECTS", (*dialects.DIALECTS, THIRD))
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, build_definition(), None)
    document = compose_application(new_application(API_VERSION), Parameters(py_file="local:///a.py"), TaskSettings())

    first = await submit(client, document, namespace, build_stamp())
    assert first.reference.resource.api_version == "spark.example.com/v1", "the version that the cluster serves"
    assert first.resource["spec"] == {"program": "local:///a.py", "ttl": None}

    second = await submit(client, document, namespace, replace(build_stamp(), try_number=2))
    assert second.adopted
    assert dialects.read_progress(second.resource).phase is Phase.RUNNING
