"""Helm, if the environment variable HELM names its binary."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

Json = dict[str, Any]

CHART = Path(__file__).resolve().parents[2] / "charts" / "spark-operator"
HELM = os.environ.get("HELM")
KUBERNETES = "1.36.3"
RELEASE, NAMESPACE = "spark-operator", "operators"

needs_helm = pytest.mark.skipif(HELM is None, reason="there is no helm: set HELM")

IMAGE = "registry.example.com/controller"

# Together, these values cover every branch of every template.
VARIANTS: Mapping[str, Json] = {
    "default": {},
    "namespaces": {
        "watch": {"namespaces": ["jobs", "more-jobs"]},
        "config": {"operatorName": "ours", "workers": 10},
        "rbac": {
            "ingresses": True,
            "gatewayRoutes": True,
            "secrets": True,
            "persistentVolumeClaims": True,
            "podGroups": True,
            "ownerReferences": True,
            "otherLeases": [{"namespace": "more-jobs", "name": "spark-operator-lease"}],
        },
        "replicas": 3,
        "serviceAccount": {"name": "controller", "annotations": {"team": "x"}},
        "workload": {
            "serviceAccount": {"name": "driver", "annotations": {"role": "x"}},
            "podAllocators": True,
            "executorResize": True,
        },
        "podDisruptionBudget": {"enabled": True},
        "metrics": {
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "alerts": {"enabled": True, "labels": {"release": "prometheus"}},
            "dashboard": {"enabled": True},
        },
        "webhook": {"enabled": True, "failurePolicy": "Fail"},
        "kueue": {"enabled": True},
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
            "extraEgress": [{"ports": [{"port": 9000, "protocol": "TCP"}]}],
        },
    },
    "selector": {
        "watch": {
            "namespaceSelector": {
                "matchLabels": {"spark": "yes"},
                "matchExpressions": [
                    {"key": "team", "operator": "In", "values": ["a", "b"]},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            }
        },
        "properties": "spark.kubernetes.operator.name=ours\nspark.kubernetes.operator.reconciler.parallelism=10\n",
        "webhook": {"enabled": True},
        "kueue": {"enabled": True},
        "networkPolicy": {"enabled": True},
    },
    "everywhere": {
        "watch": {"allNamespaces": True},
        "fullnameOverride": "controller",
        "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": [{"name": "registry"}]},
        "rbac": {"sparkClusters": False, "driverLogs": False},
        "workload": {"namespaces": ["jobs"]},
        "metrics": {"enabled": False},
        "webhook": {"enabled": True},
        "kueue": {"enabled": True},
        "crds": {"install": False},
        "workers": 20,
        "extraArgs": ["--log-format=text"],
        "env": [{"name": "TZ", "value": "UTC"}],
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "priorityClassName": "high",
        "commonLabels": {"team": "data"},
        "podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None},
        "securityContext": {"privileged": False},
    },
    "borrowed rights": {
        "replicas": 0,
        "rbac": {"create": False},
        "serviceAccount": {"create": False},
        "workload": {"create": False},
        "webhook": {"enabled": True},
    },
}


class HelmFailed(Exception):
    """Helm has failed; str() is its output."""


def run_helm(*words: str, kubeconfig: Path | None = None, values: Json | None = None) -> str:
    """Run Helm; return its output. The values name an image unless they already do.

    Raises:
        HelmFailed: Helm ended with an error.
    """
    environment = {**os.environ, **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
    if values is not None:
        words = (*words, "--values", "-")
        if words[0] in ("install", "template"):  # an upgrade uses the image of the release again
            values = {**values, "image": {"repository": IMAGE, **values.get("image", {})}}
    done = subprocess.run(
        [str(HELM), *words], input=yaml.safe_dump(values or {}), capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise HelmFailed(done.stderr + done.stdout)
    return done.stdout


def render_chart(values: Json) -> list[Json]:
    """Render the chart with values; return its objects."""
    words = ("template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--kube-version", KUBERNETES)
    return [document for document in yaml.safe_load_all(run_helm(*words, values=values)) if document]


def select_kind(documents: list[Json], kind: str) -> list[Json]:
    return [document for document in documents if document["kind"] == kind]
