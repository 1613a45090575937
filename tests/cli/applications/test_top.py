"""`spark-operator top` with applications that follow a script."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.resources import POD_METRICS, PODS, SERVICE_ACCOUNTS
from tests.cli.cluster_objects import METRICS, create_object
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, stay_submitted


@pytest.fixture
def metered_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that serves the kinds of the metrics API."""
    with Cluster([*build_custom_resource_definitions(), METRICS]).serve() as cluster:
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield cluster


def create_pod(
    cluster: Cluster, application: str, name: str, role: str, *, memory: str, phase: str = "Running"
) -> None:
    create_object(cluster, PODS, build_pod(application, name, role, memory=memory, phase=phase))


def build_pod(application: str, name: str, role: str, *, memory: str, phase: str = "Running") -> dict[str, Any]:
    """Return a pod of an application that requests half a core and `memory`."""
    requests = {"cpu": "500m", "memory": memory}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {LABEL_APPLICATION_NAME: application, LABEL_ROLE: role}},
        "spec": {"containers": [{"name": "spark", "image": "spark", "resources": {"requests": requests}}]},
        "status": {"phase": phase},
    }


def create_account(cluster: Cluster) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    create_object(cluster, SERVICE_ACCOUNTS, account)


def create_pods(cluster: Cluster) -> None:
    """Create the pods of a small and a large application."""
    cluster.script = stay_submitted
    cluster.create("large")
    create_account(cluster)
    create_pod(cluster, "small", "small-0-driver", "driver", memory="512Mi")
    create_pod(cluster, "large", "large-0-driver", "driver", memory="1Gi")
    create_pod(cluster, "large", "large-0-exec-1", "executor", memory="2Gi")
    create_pod(cluster, "large", "large-0-exec-2", "executor", memory="2Gi")
    create_pod(cluster, "large", "large-0-exec-3", "executor", memory="2Gi", phase="Failed")
    create_pod(cluster, "web", "web-1", "server", memory="9Gi")


def read_rows(text: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line) for line in text.splitlines()]


def test_requests_are_shown_with_a_note_without_metrics(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create_pods(scripted_cluster)
    captured = run_verb("top --sort-by memory")
    assert read_rows(captured.out) == [
        ["NAME", "EXECUTORS", "CORES", "MEMORY"],
        ["large", "2", "1.5", "5Gi"],
        ["small", "0", "0.5", "512Mi"],
    ]
    assert "the usage is not available: the cluster does not serve metrics.k8s.io" in captured.err


def test_usage_is_shown_where_metrics_are_served(metered_cluster: Cluster, run_verb: Verbs) -> None:
    create_pods(metered_cluster)
    for name in ("large-0-driver", "large-0-exec-1"):
        labels = {LABEL_APPLICATION_NAME: "large", LABEL_ROLE: "driver"}
        usage = [{"name": "spark", "usage": {"cpu": "250m", "memory": "512Mi"}}]
        metrics = {
            "apiVersion": POD_METRICS.api_version,
            "kind": "PodMetrics",
            "metadata": {"name": name, "labels": labels},
            "containers": usage,
        }
        create_object(metered_cluster, POD_METRICS, metrics)
    captured = run_verb("top")
    assert read_rows(captured.out)[1:] == [
        ["large", "2", "1.5", "5Gi", "0.5", "1Gi"],
        ["small", "0", "0.5", "512Mi", "-", "-"],
    ]
    assert captured.err == ""
    assert read_rows(run_verb("top large").out) == [
        ["POD", "CORES", "MEMORY", "CORES USED", "MEMORY USED"],
        ["large-0-driver", "0.5", "1Gi", "0.25", "512Mi"],
        ["large-0-exec-1", "0.5", "2Gi", "0.25", "512Mi"],
        ["large-0-exec-2", "0.5", "2Gi", "-", "-"],
    ]


def test_namespace_without_applications_has_a_note(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert run_verb("top -A") == ("", "spark-operator: no running pods of applications found\n")


def test_name_and_all_namespaces_exclude_each_other(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert "NAME and --all-namespaces cannot be combined" in run_verb("top pi -A", ExitCode.INVALID).err


def start(pod: dict[str, Any], hours: float, ended: float | None = None) -> dict[str, Any]:
    """Let a pod have run since some hours, or have ended some hours ago."""
    began, end = (
        None if ago is None else (datetime.now(UTC) - timedelta(hours=ago)).isoformat() for ago in (hours, ended)
    )
    state = (
        {"terminated": {"startedAt": began, "finishedAt": end, "exitCode": 0}}
        if end
        else {"running": {"startedAt": began}}
    )
    pod["status"] |= {
        "phase": "Succeeded" if end else "Running",
        "containerStatuses": [{"name": "spark", "state": state}],
    }
    return pod


def test_cost_so_far_contains_ended_pods_of_running_applications(
    scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs
) -> None:
    create_account(scripted_cluster)
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    for application, name, role, hours, ended in (
        ("pi", "pi-0-driver", "driver", 2, None),
        ("pi", "pi-exec-3", "executor", 2, 1),
        ("over", "over-0-driver", "driver", 3, 1),
    ):
        pod = start(build_pod(application, name, role, memory="1Gi"), hours, ended)
        create_object(scripted_cluster, PODS, pod)
    prices = tmp_path / "prices.json"
    prices.write_text('{"currency": "EUR", "prices": [{"coreHour": 2, "gibHour": 1}]}')
    shown = run_verb(f"top --cost --prices {prices}")
    titles, (*cells, core_hours, cost) = read_rows(shown.out)
    assert titles == ["NAME", "EXECUTORS", "CORES", "MEMORY", "CORE-HOURS", "COST"]
    assert cells == ["pi", "0", "0.5", "1Gi"]
    assert (core_hours[0], cost[0]) == ("≥", "≥"), "executors 1 and 2 were deleted"
    assert float(core_hours[1:]) == pytest.approx(1.5, rel=0.01)
    assert float(cost[1:].removesuffix(" EUR")) == pytest.approx(6, rel=0.01)
    assert "Not counted: executors whose pods were deleted: 2\n" in shown.err
    shown = run_verb("top pi --cost")
    ((*cells, core_hours),) = read_rows(shown.out)[1:]
    assert cells == ["pi-0-driver", "0.5", "1Gi"]
    assert float(core_hours) == pytest.approx(1, rel=0.01)
    assert "core-hours" not in shown.err


def test_pods_that_cannot_be_priced_are_counted_in_a_note(
    scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs
) -> None:
    create_account(scripted_cluster)
    create_object(scripted_cluster, PODS, start(build_pod("pi", "pi-0-driver", "driver", memory="1Gi"), 1))
    prices = tmp_path / "prices.json"
    prices.write_text('{"currency": "EUR", "prices": [{"node": "spot-*", "coreHour": 2, "gibHour": 1}]}')
    shown = run_verb(f"top --cost --prices {prices}")
    core_hours, cost = read_rows(shown.out)[1][-2:]
    assert float(core_hours) == pytest.approx(0.5, rel=0.01)
    assert cost == "-"
    assert "Not counted: pods without a price: 1\n" in shown.err


def test_prices_need_the_cost(tmp_path: Path, run_verb: Verbs) -> None:
    assert "--prices needs --cost" in run_verb("top --prices prices.json", ExitCode.INVALID).err
    assert "cannot be read" in run_verb(["top", "--cost", "--prices", str(tmp_path / "none")], ExitCode.INVALID).err
