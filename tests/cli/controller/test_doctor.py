import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.controller.diagnosis.access import (
    DRIVER_PERMISSIONS,
    FORWARD_PERMISSION,
    SCALE_PERMISSION,
    STOP_PERMISSION,
)
from airflow_provider_spark_operator.cli.controller.diagnosis.finding import Finding, Status, print_findings
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.crds.definitions import find_part
from local_kubernetes.api.kinds.kinds import NETWORK_POLICIES, PODS, RESOURCE_QUOTAS, SERVICE_ACCOUNTS, Kind
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.hooks.clouds.loopback import Answer, Asked, serve
from tests.kube.scripted_api import build_kubeconfig

WORKLOAD = Path(__file__).parents[3] / "docs" / "manifests" / "workload.yaml"
COMMAND_LINE = WORKLOAD.with_name("command-line.yaml")
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def create(cluster: Cluster, kind: Kind, name: str, namespace: str = NAMESPACE, **parts: Any) -> None:
    document = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": name, "namespace": namespace}, **parts}
    document["metadata"] |= parts.get("metadata", {}) | {"name": name, "namespace": namespace}
    cluster.do(lambda: cluster.store.create(kind, namespace, document))


def create_controller(cluster: Cluster, name: str, labels: Mapping[str, str], *arguments: str) -> None:
    container = {"name": "controller", "image": "controller", "args": [*arguments]}
    metadata = {"labels": {"app.kubernetes.io/name": "spark-kubernetes-operator", **labels}}
    create(cluster, PODS, name, "default", metadata=metadata, spec={"containers": [container]}, status=READY)


def diagnose(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = main(["doctor", "-o", "json", *options])
    report = json.loads(capsys.readouterr().out)
    return code, {check["check"]: check for check in report["checks"]}


def test_complete_cluster_passes_all_checks(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    create_controller(scripted_cluster, "a", {"app.kubernetes.io/component": "operator-deployment"})
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    controller = checks["controller of spark.apache.org"]
    assert (controller["status"], controller["result"]) == (
        "passed",
        "the Apache operator in namespace default: 1 of 1 pods ready",
    )
    assert checks["SparkCluster of spark.apache.org (v1)"]["status"] == "passed"
    assert checks["SparkApplication of sparkoperator.k8s.io"]["status"] == "skipped"
    permissions = checks["permissions in namespace jobs"]
    assert (permissions["status"], permissions["result"]) == ("passed", "all 17")
    assert {check["fix"] for check in checks.values() if check["status"] == "passed"} == {""}
    assert checks["service account spark of drivers"]["status"] == "passed"
    assert checks["permissions of the service account spark of drivers"]["status"] == "passed"
    assert checks["permissions for `forward`, `stop` and `cluster scale` in namespace jobs"]["status"] == "passed"
    assert checks["ResourceQuotas"]["result"] == "namespace jobs has none"
    assert checks["DNS of the cluster"]["status"] == "skipped"


def test_definition_without_suspension_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scripted_cluster: Cluster
) -> None:
    assert diagnose(capsys)[1]["definition of SparkApplication (v1)"]["status"] == "passed"
    definitions = build_custom_resource_definitions()
    for version in definitions[0]["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        del find_part(schema, "spec")["properties"]["suspend"]
        find_part(schema, "status.currentState.currentStateSummary")["enum"].remove("Suspended")
    with Cluster(definitions).serve() as older:
        path = tmp_path / "older"
        path.write_text(json.dumps(older.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(path))
        check = diagnose(capsys)[1]["definition of SparkApplication (v1)"]
    assert check["status"] == "warning"
    assert check["result"] == "it lacks the field spec.suspend and the state Suspended"
    assert "spark-operator crds | kubectl apply" in check["fix"]


def test_table_has_one_line_for_each_check(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    captured = run_verb("doctor")
    titles, *rows = captured.out.splitlines()
    assert titles.split() == ["STATUS", "CHECK", "RESULT", "FIX"]
    assert {row.split()[0] for row in rows} == {"passed", "warning", "skipped"}
    _, checks = diagnose(capsys)
    assert len(rows) == len(checks)
    numbers = re.fullmatch(r"spark-operator: (\d+) passed, (\d+) warning, 0 failed, (\d+) skipped\n", captured.err)
    assert numbers is not None
    assert sum(map(int, numbers.groups())) == len(rows)


def test_missing_service_account_fails_with_the_command_that_creates_it(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    code, checks = diagnose(capsys, "--service-account", "etl")
    check = checks["service account etl of drivers"]
    assert code == ExitCode.INFRASTRUCTURE_FAILED
    assert (check["status"], check["result"]) == ("failed", "it does not exist in namespace jobs")
    assert "spark-operator roles --for driver -n jobs | kubectl apply -f -" in check["fix"]
    assert "`kubectl create serviceaccount etl -n jobs`" in check["fix"]
    assert "--role=spark-driver --serviceaccount=jobs:etl -n jobs`" in check["fix"]
    assert "permissions of the service account etl of drivers" not in checks  # the same cause


@pytest.mark.usefixtures("scripted_cluster")
def test_missing_default_service_account_fails_with_the_option_for_another(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = diagnose(capsys)
    assert code == ExitCode.INFRASTRUCTURE_FAILED
    fix = checks["service account spark of drivers"]["fix"]
    assert "spark-operator roles --for driver -n jobs | kubectl apply -f -" in fix
    assert "name it with --service-account" in fix


@pytest.mark.usefixtures("scripted_cluster")
def test_missing_namespace_fails_with_the_command_that_creates_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = diagnose(capsys, "-n", "nope")
    check = checks["namespace nope"]
    assert code == ExitCode.INFRASTRUCTURE_FAILED
    assert (check["status"], check["result"]) == ("failed", "it does not exist")
    assert check["fix"] == "Run `kubectl create namespace nope`"


def test_two_controllers_are_a_warning(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    create_controller(scripted_cluster, "a", {"app.kubernetes.io/component": "operator-deployment"})
    create_controller(scripted_cluster, "b", {}, "reconcile", "--all-namespaces")
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    check = checks["controller of spark.apache.org"]
    assert check["status"] == "warning"
    assert "the Apache operator in namespace default" in check["result"]
    assert "spark-operator reconcile in namespace default" in check["result"]


@pytest.mark.parametrize(
    ("selector", "is_suggested"),
    [
        (None, True),
        ({"matchLabels": {"app": "other"}}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["other"]}]}, True),
        ({"matchLabels": {"app": "controller"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, False),
        ({}, False),
    ],
)
def test_network_policy_is_suggested_if_none_selects_the_controller(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], selector: JsonObject | None, is_suggested: bool
) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    create_controller(scripted_cluster, "b", {"app": "controller"}, "reconcile", "--all-namespaces")
    if selector is not None:
        spec = {"podSelector": selector}
        create(scripted_cluster, NETWORK_POLICIES, "limits", "default", apiVersion="networking.k8s.io/v1", spec=spec)
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    found = checks.get("network policy of the controller")
    assert (found is not None) is is_suggested
    if found:
        assert found["result"] == "no NetworkPolicy limits the traffic of spark-operator reconcile in namespace default"
        assert "networkPolicy.enabled=true" in found["fix"]


def test_new_application_without_status_is_no_failure(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    code, _ = diagnose(capsys)
    assert code == ExitCode.SUCCESS


def test_exhausted_quota_fails(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    create(scripted_cluster, SERVICE_ACCOUNTS, "spark")
    status = {
        "hard": {"requests.cpu": "4", "pods": "10", "services.loadbalancers": "0"},
        "used": {"requests.cpu": "4000m", "pods": "3", "services.loadbalancers": "0"},
    }
    create(scripted_cluster, RESOURCE_QUOTAS, "limits", spec={"hard": status["hard"]}, status=status)
    code, checks = diagnose(capsys)
    check = checks["ResourceQuota limits"]
    assert (code, check["status"]) == (ExitCode.INFRASTRUCTURE_FAILED, "failed")
    assert check["result"] == "no headroom: requests.cpu 4000m of 4, pods 3 of 10"
    assert check["fix"].endswith("raise requests.cpu in the ResourceQuota")


def test_quota_of_cpu_limits_names_the_properties_that_set_them(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"hard": {"limits.cpu": "4"}, "used": {"limits.cpu": "0"}}
    create(scripted_cluster, RESOURCE_QUOTAS, "limits", spec={"hard": status["hard"]}, status=status)
    check = diagnose(capsys)[1]["ResourceQuota limits"]
    assert check["status"] == "warning"
    assert "spark.kubernetes.driver.limit.cores" in check["fix"]


def test_driver_permissions_are_those_of_the_documented_role() -> None:
    rules = next(one for one in yaml.safe_load_all(WORKLOAD.read_text()) if one["kind"] == "Role")["rules"]
    documented = {(name, verb) for rule in rules for name in rule["resources"] for verb in rule["verbs"]}
    assert {(kind.plural, verb) for kind, verbs in DRIVER_PERMISSIONS.items() for verb in verbs} == documented


class Api:
    """An API server that permits only what docs/manifests/airflow.yaml contains, and has working DNS if permitted.

    Attributes:
        denied: The permission that the client does not have, as `verb kind`, or `everything`.
        ready: Whether each endpoint of the DNS is ready. None if its Service cannot be read.
        namespace: The namespace. None if it cannot be read.
        user: The name of the user. Empty if it cannot be read.
    """

    def __init__(self) -> None:
        self.denied = ""
        self.user = ""
        self.ready: list[bool] | None = None
        self.namespace: JsonObject | None = None

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/version":
            return Answer({"gitVersion": "v1.36.0"})
        if asked.path == "/apis/spark.apache.org/v1":
            return Answer({"resources": [{"name": "sparkapplications"}, {"name": "sparkclusters"}]})
        if asked.path == "/apis/spark.apache.org":
            return Answer({"versions": [{"version": "v1"}]})
        if asked.path.startswith("/apis/sparkoperator.k8s.io"):
            return Answer({"kind": "Status", "message": "not found", "reason": "NotFound"}, 404)
        if asked.path.endswith("/selfsubjectaccessreviews"):
            attributes = json.loads(asked.body)["spec"]["resourceAttributes"]
            names = [attributes["resource"], *([attributes["subresource"]] if attributes["subresource"] else [])]
            is_denied = self.denied in ("everything", f"{attributes['verb']} {'/'.join(names)}")
            return Answer({"status": {"allowed": not is_denied}}, 201)
        if self.ready is not None and "/kube-system/services" in asked.path:
            return Answer({"items": [{"metadata": {"name": "kube-dns"}}]})
        if self.ready is not None and "/kube-system/endpointslices" in asked.path:
            endpoints = [{"conditions": {"ready": one}} for one in self.ready]
            return Answer({"items": [{"metadata": {"name": "kube-dns-1"}, "endpoints": endpoints}]})
        fixed: dict[str, JsonObject | None] = {
            "/openapi/v3/apis/spark.apache.org/v1": {"components": {"schemas": {}}},  # every user can read it
            "/api/v1/namespaces/jobs": self.namespace,
            "/apis/authentication.k8s.io/v1/selfsubjectreviews": {"status": {"userInfo": {"username": self.user}}}
            if self.user
            else None,
        }
        if document := fixed.get(asked.path):
            return Answer(document)
        if "/namespaces/jobs/" in asked.path and asked.path.endswith(("/sparkapplications", "/pods")):
            return Answer({"items": []})
        return refuse(asked)


def refuse(asked: Asked) -> Answer:
    """Deny a request with the message of the authorizer."""
    is_get = asked.method == "GET" and ("serviceaccounts" in asked.path or asked.path.endswith("/namespaces/jobs"))
    kind = asked.path.split("/")[-2 if is_get else -1]
    verb = "get" if is_get else "create" if asked.method == "POST" else "list"
    message = f'{kind} is forbidden: User "airflow" cannot {verb} resource "{kind}" in API group ""'
    return Answer({"kind": "Status", "message": message, "reason": "Forbidden"}, 403)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture(autouse=True)
def use_kubeconfig(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Select the restricted API server, except for tests of the scripted cluster."""
    if "scripted_cluster" in request.fixturenames:
        yield
        return
    with serve(api.answer) as url:
        path = tmp_path / "restricted"
        path.write_text(json.dumps(build_kubeconfig(url)))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield


def test_permissions_of_the_documented_role_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    skipped = {name: check["result"] for name, check in checks.items() if check["status"] == "skipped"}
    assert skipped == {
        "definition of SparkApplication (v1)": "the API server publishes no schema of the kind",
        "SparkApplication of sparkoperator.k8s.io": "the kind is not installed",
        "controller of spark.apache.org": "you need list on pods cluster-wide",
        "namespace jobs": "you need get on namespaces cluster-wide",
        "service account spark of drivers": "you need get on serviceaccounts in namespace jobs",
        "ResourceQuotas": "you need list on resourcequotas in namespace jobs",
        "DNS of the cluster": "you need list on services in namespace kube-system",
        "permissions of the service account spark of drivers": "you need create on "
        "localsubjectaccessreviews.authorization.k8s.io in namespace jobs",
    }


def test_skipped_check_names_the_role_that_has_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    checks = diagnose(capsys)[1]
    rules = {
        (resource, verb)
        for rule in yaml.safe_load(COMMAND_LINE.read_text())["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    in_role = {name: check for name, check in checks.items() if "roles --for cli -n jobs" in check["fix"]}
    assert in_role.keys() == {
        "namespace jobs",
        "service account spark of drivers",
        "permissions of the service account spark of drivers",
        "ResourceQuotas",
    }
    for check in in_role.values():
        verb, kind = check["result"].removeprefix("you need ").split()[:3:2]
        assert (kind.partition(".")[0], verb) in rules
    assert "grant it with a ClusterRole" in checks["controller of spark.apache.org"]["fix"]
    assert "grant it with a Role in namespace kube-system" in checks["DNS of the cluster"]["fix"]


@pytest.mark.parametrize(
    ("user", "option"),
    [
        ("", "--user USER"),
        ("ann", "--user ann"),
        ("Ann O'Hara", """--user 'Ann O'"'"'Hara'"""),
        ("system:serviceaccount:ci:deployer", "--serviceaccount ci:deployer"),
    ],
)
def test_fix_binds_the_role_to_the_identity_of_the_client(
    api: Api, user: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.denied, api.user = "everything", user
    checks = diagnose(capsys)[1]
    assert f"--role airflow-spark-operator {option}`" in checks["permissions in namespace jobs"]["fix"]
    verbs = checks["permissions for `forward`, `stop` and `cluster scale` in namespace jobs"]
    assert f"--role spark-operator-command-line {option}`" in verbs["fix"]


def test_missing_permission_of_the_client_is_an_api_failure(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.denied = "list events"
    code, checks = diagnose(capsys)
    assert code == ExitCode.API_FAILED
    check = checks["permissions in namespace jobs"]
    assert (check["status"], check["result"]) == ("failed", "missing: list events")
    assert "spark-operator roles --for airflow -n jobs | kubectl apply -f -" in check["fix"]


def test_missing_role_is_one_finding(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.denied = "everything"
    code, checks = diagnose(capsys)
    assert code == ExitCode.API_FAILED
    assert [name for name, check in checks.items() if check["status"] == "failed"] == ["permissions in namespace jobs"]
    assert [name for name, check in checks.items() if check["status"] == "warning"] == [
        "permissions for `forward`, `stop` and `cluster scale` in namespace jobs",
        "permission for `spark_metrics` in namespace jobs",
    ]
    assert checks["permissions in namespace jobs"]["result"] == (
        "missing: get, list, watch, create, patch, delete sparkapplications.spark.apache.org; "
        "get, list, watch, create, patch, delete sparkclusters.spark.apache.org; get, list, watch pods; "
        "get pods/log; list events"
    )


@pytest.mark.parametrize("denied", ["create pods/portforward", "patch pods", "patch statefulsets/scale"])
def test_missing_permission_of_a_verb_is_a_warning(denied: str, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.denied = denied
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    check = checks["permissions for `forward`, `stop` and `cluster scale` in namespace jobs"]
    assert (check["status"], check["result"]) == ("warning", f"missing: {denied}")
    assert "spark-operator roles --for cli -n jobs" in check["fix"]


def test_missing_permission_for_spark_metrics_is_a_warning(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.denied = "get pods/proxy"
    code, checks = diagnose(capsys)
    assert code == ExitCode.SUCCESS
    check = checks["permission for `spark_metrics` in namespace jobs"]
    assert (check["status"], check["result"]) == ("warning", "missing: get pods/proxy")
    assert (
        "uncomment the rule of pods/proxy in the output of `spark-operator roles --for airflow -n jobs`" in check["fix"]
    )


def test_checked_permissions_of_verbs_are_in_the_documented_role() -> None:
    rules = yaml.safe_load(COMMAND_LINE.read_text())["rules"]
    documented = {(name, verb) for rule in rules for name in rule["resources"] for verb in rule["verbs"]}
    assert {
        (one.name, verb) for one in (FORWARD_PERMISSION, STOP_PERMISSION, SCALE_PERMISSION) for verb in one.verbs
    } <= documented


def test_narrow_terminal_shows_the_fix_below_its_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    findings = [
        Finding("connection", Status.PASSED),
        Finding("service account", Status.FAILED, "it does not exist", "Create it with `kubectl apply`"),
    ]
    monkeypatch.setenv("COLUMNS", "80")
    print_findings(findings)
    assert capsys.readouterr().out.splitlines()[0].split() == ["STATUS", "CHECK", "RESULT", "FIX"]
    monkeypatch.setenv("COLUMNS", "40")
    print_findings(findings)
    assert capsys.readouterr().out.splitlines() == [
        "passed    connection",
        "failed    service account",
        "            it does not exist",
        "            Fix: Create it with `kubectl",
        "            apply`",
    ]


def test_namespace_that_waits_for_finalizers_fails_with_the_way_to_remove_them(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    message = (
        "Some content in the namespace has finalizers remaining: sparkapplications.spark.apache.org/finalizer in 1"
    )
    conditions = [
        {"type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining"},
        {"type": "NamespaceFinalizersRemaining", "status": "True", "message": message},
    ]
    api.namespace = {
        "metadata": {"name": "jobs", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"phase": "Terminating", "conditions": conditions},
    }
    _, checks = diagnose(capsys)
    check = checks["namespace jobs"]
    assert (check["status"], check["result"]) == ("failed", f"it is being deleted: {message}")
    assert "--lease OTHER-NAMESPACE/NAME" in check["fix"]


@pytest.mark.parametrize(("ready", "status"), [([True, False], "passed"), ([False], "failed"), ([], "failed")])
def test_dns_needs_one_ready_endpoint(
    ready: list[bool], status: str, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.ready = ready
    _, checks = diagnose(capsys)
    check = checks["DNS of the cluster"]
    assert check["status"] == status
    assert check["result"] == f"Service kube-system/kube-dns: {sum(ready)} of {len(ready)} endpoints ready"


def test_unreachable_server_is_the_only_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(lambda _: Answer({})) as url:
        pass  # nothing listens at this address now
    path = tmp_path / "unreachable"
    path.write_text(json.dumps(build_kubeconfig(url)))
    monkeypatch.setenv("KUBECONFIG", str(path))
    code, checks = diagnose(capsys)
    assert code == ExitCode.API_FAILED
    (check,) = checks.values()
    assert (check["check"], check["status"]) == (f"connection to {url}", "failed")


def test_address_of_a_proxy_is_not_taken_for_a_cluster_without_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proxy"
    monkeypatch.setenv("KUBECONFIG", str(path))
    with serve(lambda _: Answer("", 404)) as url:
        path.write_text(json.dumps(build_kubeconfig(url)))
        code, checks = diagnose(capsys)
        assert code == ExitCode.API_FAILED
        (check,) = checks.values()
        assert check["result"].endswith(
            f"{url} answered HTTP status 404 without a Kubernetes Status: it is not a Kubernetes API server"
        )
        assert main(["list"]) == ExitCode.API_FAILED
    assert "it is not a Kubernetes API server" in capsys.readouterr().err
