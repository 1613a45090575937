import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from tests.core.cluster_resources.clusters import OPERATOR, build_documents, build_model

ESCAPED = {"allowPrivilegeEscalation": False}


def build_pod_template(**spec: Any) -> dict[str, Any]:
    return {"statefulSetSpec": {"template": {"spec": spec}}}


def build_container(role: str, **modifiers: Any) -> dict[str, Any]:
    spec = build_documents(**modifiers)[f"StatefulSet/cl-{role}"]["spec"]["template"]["spec"]
    return next(each for each in spec["containers"] if each["name"] == role)


def get_environment(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value") for each in container["env"]}


def drop_nulls(
    value: dict[str, Any] | int | list[dict[str, Any] | str] | str,
) -> dict[str, Any] | int | list[dict[str, Any] | str] | str:
    if isinstance(value, dict):
        return {key: drop_nulls(each) for key, each in value.items() if each is not None}
    return value


def find_problems(**modifiers: Any) -> list[str]:
    with pytest.raises(InvalidResource) as caught:
        build_cluster(build_model(**modifiers), OPERATOR)
    return [str(problem) for problem in caught.value.problems]


# --- objects ---


@pytest.mark.parametrize(
    ("minimum", "maximum", "optional"),
    [
        (0, 0, []),
        (1, 1, ["PodDisruptionBudget/cl-worker-pdb"]),
        (3, 2, ["PodDisruptionBudget/cl-worker-pdb"]),
        (1, 2, ["HorizontalPodAutoscaler/cl-worker-hpa", "PodDisruptionBudget/cl-worker-pdb"]),
        (0, 2, ["HorizontalPodAutoscaler/cl-worker-hpa"]),
    ],
    ids=["no workers", "fixed", "minimum above maximum", "elastic", "elastic from zero"],
)
def test_autoscaler_and_budget_depend_on_worker_limits(minimum: int, maximum: int, optional: list[str]) -> None:
    names = list(build_documents(minimum=minimum, maximum=maximum))
    assert names[:5] == [
        "Service/cl-master-svc",
        "Service/cl-worker-svc",
        "StatefulSet/cl-master",
        "StatefulSet/cl-worker",
        "NetworkPolicy/cl-worker",
    ]
    assert names[5:] == optional


def test_same_cluster_results_in_same_documents_and_is_not_changed() -> None:
    one = build_model(master=build_pod_template(containers=[{"name": "master"}]), maximum=3)
    before = copy.deepcopy(one.to_document())
    assert build_cluster(one, OPERATOR) == build_cluster(one, OPERATOR)
    assert one.to_document() == before


def test_cluster_owns_every_document_in_its_namespace() -> None:
    for document in build_documents(maximum=2).values():
        metadata = document["metadata"]
        assert metadata["namespace"] == "jobs"
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["00000000-0000-4000-8000-000000000002"]


def test_selectors_match_only_pods_of_their_cluster() -> None:
    mine, others = build_documents(maximum=2), build_documents(name="other", maximum=2)
    labels = [
        document["spec"]["template"]["metadata"]["labels"]
        for name, document in others.items()
        if name.startswith("StatefulSet/")
    ]
    selectors = [
        mine["Service/cl-master-svc"]["spec"]["selector"],
        mine["Service/cl-worker-svc"]["spec"]["selector"],
        mine["StatefulSet/cl-master"]["spec"]["selector"]["matchLabels"],
        mine["StatefulSet/cl-worker"]["spec"]["selector"]["matchLabels"],
        mine["NetworkPolicy/cl-worker"]["spec"]["podSelector"]["matchLabels"],
        mine["PodDisruptionBudget/cl-worker-pdb"]["spec"]["selector"]["matchLabels"],
    ]
    assert not any(selector.items() <= each.items() for selector in selectors for each in labels)


# --- configuration and image ---


def test_configuration_is_passed_to_daemon_as_java_options() -> None:
    conf = {"spark.worker.cleanup.enabled": "true", "spark.kubernetes.namespace": "elsewhere"}
    options = get_environment(build_container("worker", conf=conf))["SPARK_WORKER_OPTS"]
    assert options == (
        '-Dspark.kubernetes.namespace="jobs" '
        '-Dspark.shuffle.service.enabled="true" '
        '-Dspark.worker.cleanup.enabled="true"'
    )


def test_shuffle_service_can_be_disabled() -> None:
    container = build_container("master", conf={"spark.shuffle.service.enabled": "false"})
    options = get_environment(container)["SPARK_MASTER_OPTS"]
    assert '-Dspark.shuffle.service.enabled="false"' in options


def test_quotes_and_backslashes_are_escaped_for_java() -> None:
    conf = {"spark.x": 'say "a\\b"'}
    options = get_environment(build_container("master", conf=conf))["SPARK_MASTER_OPTS"]
    assert '-Dspark.x="say \\"a\\\\b\\""' in options


@pytest.mark.parametrize(
    ("conf", "template", "image"),
    [
        ({}, None, "apache/spark:4.3.0"),
        ({}, "mine:1", "mine:1"),
        ({"spark.kubernetes.container.image": "conf:{{SPARK_VERSION}}"}, "mine:1", "conf:4.3.0"),
    ],
    ids=["default", "template", "configuration"],
)
def test_image_comes_from_configuration_then_template_then_default(
    conf: dict[str, Any], template: str | None, image: str
) -> None:
    container = {"name": "worker", "image": template} if template else {"name": "worker"}
    assert build_container("worker", conf=conf, worker=build_pod_template(containers=[container]))["image"] == image


def test_version_placeholder_is_replaced_only_in_image_names() -> None:
    conf = {"spark.kubernetes.driver.container.image": "d:{{SPARK_VERSION}}", "spark.x": "{{SPARK_VERSION}}"}
    options = get_environment(build_container("master", conf=conf))["SPARK_MASTER_OPTS"]
    assert '-Dspark.kubernetes.driver.container.image="d:4.3.0"' in options
    assert '-Dspark.x="{{SPARK_VERSION}}"' in options


@pytest.mark.parametrize(
    ("conf", "template", "scheduler"),
    [
        ({}, {}, "default-scheduler"),
        ({}, {"schedulerName": "mine"}, "mine"),
        ({"spark.kubernetes.scheduler.name": "volcano"}, {"schedulerName": "mine"}, "volcano"),
    ],
    ids=["default", "template", "configuration"],
)
def test_scheduler_comes_from_configuration_then_template_then_default(
    conf: dict[str, Any], template: dict[str, Any], scheduler: str
) -> None:
    stateful_set = build_documents(conf=conf, master=build_pod_template(**template))["StatefulSet/cl-master"]
    assert stateful_set["spec"]["template"]["spec"]["schedulerName"] == scheduler


# --- templates ---


def test_daemon_container_is_appended_if_template_has_none() -> None:
    spec = build_documents(worker=build_pod_template(containers=[{"name": "log"}]))["StatefulSet/cl-worker"]["spec"]
    assert [each["name"] for each in spec["template"]["spec"]["containers"]] == ["log", "worker"]


def test_command_and_arguments_are_appended_to_those_of_the_template() -> None:
    container = {"name": "master", "command": ["tini", "--"], "args": ["-v"]}
    found = build_container("master", master=build_pod_template(containers=[container]))
    assert found["command"] == ["tini", "--", "bash"]
    assert found["args"][:2] == ["-v", "-c"]


def test_workers_connect_to_the_master_of_their_cluster() -> None:
    assert "start-worker.sh spark://cl-master-svc:7077 " in build_container("worker")["args"][1]


def test_options_of_the_template_come_last_and_take_precedence() -> None:
    container = {"name": "worker", "env": [{"name": "SPARK_WORKER_OPTS", "value": "-Da=b"}]}
    found = build_container("worker", worker=build_pod_template(containers=[container]))
    assert [each["name"] for each in found["env"]] == ["SPARK_WORKER_OPTS", "SPARK_LOG_DIR"]
    assert get_environment(found)["SPARK_WORKER_OPTS"].endswith('-Dspark.shuffle.service.enabled="true" -Da=b')


def test_empty_options_variable_adds_nothing() -> None:
    container = {"name": "worker", "env": [{"name": "SPARK_WORKER_OPTS"}]}
    found = build_container("worker", worker=build_pod_template(containers=[container]))
    assert get_environment(found)["SPARK_WORKER_OPTS"].endswith('-Dspark.shuffle.service.enabled="true"')


def test_other_variables_of_the_template_are_not_changed() -> None:
    entries = [{"name": "SPARK_LOG_DIR", "value": "/logs"}, {"value": "nameless"}]
    found = build_container("worker", worker=build_pod_template(containers=[{"name": "worker", "env": entries}]))
    assert found["env"][:2] == entries
    assert [each.get("name") for each in found["env"]].count("SPARK_LOG_DIR") == 1


def test_options_from_another_object_are_refused_with_their_path() -> None:
    entry = {"name": "SPARK_MASTER_OPTS", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}
    container = {"name": "master", "env": [{"name": "A", "value": "1"}, entry]}
    (problem,) = find_problems(master=build_pod_template(containers=[{"name": "log"}, container]))
    place = "spec.masterSpec.statefulSetSpec.template.spec.containers[1].env[1].valueFrom"
    assert problem.startswith(f"{place}: is not supported for this variable")


def test_ports_of_the_template_are_not_duplicated() -> None:
    ports = [
        {"containerPort": 8080, "hostPort": 80},
        {"name": "spark", "containerPort": 17077},
        {"containerPort": 6066, "protocol": "UDP"},
    ]
    found = build_container("master", master=build_pod_template(containers=[{"name": "master", "ports": ports}]))
    assert found["ports"] == [
        {"name": "web", "containerPort": 8080, "hostPort": 80},
        {"name": "spark", "containerPort": 17077},
        {"containerPort": 6066, "protocol": "UDP"},
        {"name": "rest", "containerPort": 6066},
    ]


def test_containers_cannot_escalate_unless_set_or_required() -> None:
    containers = [
        {"name": "master"},
        {"name": "open", "securityContext": {"allowPrivilegeEscalation": True}},
        {"name": "root", "securityContext": {"privileged": True}},
    ]
    template = build_pod_template(containers=containers, initContainers=[{"name": "first"}])
    spec = build_documents(master=template)["StatefulSet/cl-master"]["spec"]["template"]["spec"]
    assert [each["securityContext"] for each in spec["containers"]] == [
        ESCAPED,
        {"allowPrivilegeEscalation": True},
        {"privileged": True},
    ]
    assert spec["initContainers"] == [{"name": "first", "securityContext": ESCAPED}]


def test_user_metadata_is_kept_except_for_server_fields() -> None:
    given: dict[str, Any] = {
        "labels": {"spark-role": "mine", "a": "b"},
        "annotations": {"x": "y"},
        "name": "other",
        "uid": "u",
    }
    given |= {"creationTimestamp": None, "resourceVersion": "1"}
    metadata = build_documents(worker={"serviceMetadata": given})["Service/cl-worker-svc"]["metadata"]
    assert set(metadata) == {"name", "namespace", "labels", "annotations", "ownerReferences"}
    assert (metadata["name"], metadata["annotations"]) == ("cl-worker-svc", {"x": "y"})
    assert (metadata["labels"]["spark-role"], metadata["labels"]["a"]) == ("worker", "b")


def test_fields_of_the_operator_take_precedence_over_the_template() -> None:
    template = {
        "replicas": 7,
        "podManagementPolicy": "OrderedReady",
        "serviceName": "mine",
        "minReadySeconds": 5,
        "template": {
            "metadata": {"labels": {"spark-role": "mine", "a": "b"}},
            "spec": {"dnsConfig": {"searches": ["mine"], "options": [{"name": "ndots", "value": "2"}]}},
        },
    }
    spec = build_documents(init=2, worker={"statefulSetSpec": template})["StatefulSet/cl-worker"]["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"], spec["serviceName"]) == (2, "Parallel", "cl-worker-svc")
    assert spec["minReadySeconds"] == 5
    assert spec["template"]["metadata"]["labels"]["spark-role"] == "worker"
    assert spec["template"]["metadata"]["labels"]["a"] == "b"
    pod = spec["template"]["spec"]
    assert pod["dnsConfig"] == {
        "searches": ["mine", "cl-worker-svc.jobs.svc.cluster.local"],
        "options": [{"name": "ndots", "value": "2"}],
    }


@pytest.mark.parametrize(
    ("template", "seconds"),
    [({}, 0), ({"terminationGracePeriodSeconds": None}, 0), ({"terminationGracePeriodSeconds": 60}, 60)],
    ids=["default", "null", "template"],
)
def test_termination_grace_period_is_0_unless_the_template_has_one(template: dict[str, Any], seconds: int) -> None:
    documents = build_documents(master=build_pod_template(**template), worker=build_pod_template(**template))
    for role in ("master", "worker"):
        pod = documents[f"StatefulSet/cl-{role}"]["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] == seconds


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        (None, []),
        ({"metricsPort": 8090, "metricsIngress": []}, []),
        (
            {"metricsPort": 8090, "metricsIngress": [{"namespaceSelector": {}}]},
            [{"from": [{"namespaceSelector": {}}], "ports": [{"protocol": "TCP", "port": 8090}]}],
        ),
    ],
    ids=["absent", "no peers", "peers"],
)
def test_network_policy_has_a_rule_for_the_peers_of_metrics(
    policy: dict[str, Any] | None, rules: list[dict[str, Any]]
) -> None:
    without, found = build_documents(), build_documents(worker={"networkPolicy": policy})
    expected = without["NetworkPolicy/cl-worker"]["spec"]
    assert found["NetworkPolicy/cl-worker"]["spec"] == {**expected, "ingress": [*expected["ingress"], *rules]}
    assert found["Service/cl-worker-svc"] == without["Service/cl-worker-svc"]
    assert found["StatefulSet/cl-worker"] == without["StatefulSet/cl-worker"]


def test_service_is_headless_and_keeps_other_fields() -> None:
    given = {"clusterIP": "10.0.0.1", "selector": {"a": "b"}, "ports": [{"port": 8080, "name": "ui", "targetPort": 1}]}
    spec = build_documents(master={"serviceSpec": given})["Service/cl-master-svc"]["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["selector"] == {"a": "b", "spark-role": "master", "spark.operator/spark-cluster-name": "cl"}
    assert [(port["name"], port["port"]) for port in spec["ports"]] == [("web", 8080), ("spark", 7077), ("rest", 6066)]


def test_user_autoscaler_keeps_its_rules_with_worker_limits_of_the_cluster() -> None:
    given = {"minReplicas": 9, "maxReplicas": 99, "metrics": [], "scaleTargetRef": {"kind": "X", "name": "y"}}
    documents = build_documents(maximum=3, worker={"horizontalPodAutoscalerSpec": given})
    spec = documents["HorizontalPodAutoscaler/cl-worker-hpa"]["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"], spec["metrics"]) == (1, 3, [])
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cl-worker"}
    assert "behavior" not in spec


# --- invalid input ---


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        ({"name": "c" * 46}, "metadata.name: has 46 characters"),
        ({"name": "a.b"}, "metadata.name: 'a.b' is not a valid name for the cluster and its services"),
        ({"version": "4.3 beta"}, "spec.runtimeVersions.sparkVersion: is used as a label value"),
        ({"version": ""}, "spec.runtimeVersions.sparkVersion: is used as a label value"),
        (
            {"worker": {"networkPolicy": {"metricsPort": 0, "metricsIngress": []}}},
            "spec.workerSpec.networkPolicy.metricsPort: must be from 1 to 65535, but is 0",
        ),
        (
            {"worker": {"networkPolicy": {"metricsPort": 65536, "metricsIngress": []}}},
            "spec.workerSpec.networkPolicy.metricsPort: must be from 1 to 65535, but is 65536",
        ),
        (
            {"worker": build_pod_template(terminationGracePeriodSeconds="60")},
            "spec.workerSpec.statefulSetSpec.template.spec.terminationGracePeriodSeconds: "
            "must be an integer, not a string",
        ),
        (
            {"master": {"statefulSetSpec": {"template": []}}},
            "spec.masterSpec.statefulSetSpec.template: must be an object (key: value pairs), not a list",
        ),
        (
            {"worker": build_pod_template(containers={"name": "worker"})},
            "spec.workerSpec.statefulSetSpec.template.spec.containers: must be a list, not an object",
        ),
        (
            {"worker": build_pod_template(containers=["worker"])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0]: must be an object",
        ),
        (
            {"worker": build_pod_template(containers=[None])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0]: must be an object",
        ),
        (
            {"worker": build_pod_template(containers=[{"env": [{"name": "A", "value": 1}]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].env[0].value: "
            "must be a string, not a number: put it in quotes",
        ),
        (
            {"worker": build_pod_template(containers=[{"args": [None]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].args[0]: must be a string, not null",
        ),
        (
            {"worker": build_pod_template(containers=[{"ports": [{"containerPort": "80"}]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].ports[0].containerPort: "
            "must be an integer, not a string",
        ),
        (
            {"master": {"serviceSpec": {"selector": "a=b"}}},
            "spec.masterSpec.serviceSpec.selector: must be an object (key: value pairs), not a string",
        ),
    ],
)
def test_invalid_cluster_is_refused_with_its_path(modifiers: dict[str, Any], expected: str) -> None:
    (problem,) = find_problems(**modifiers)
    assert problem.startswith(expected)


def test_all_problems_are_reported_together() -> None:
    found = find_problems(
        name="A", version="?", master={"serviceMetadata": {"labels": 1}}, worker={"serviceSpec": {"ports": 1}}
    )
    assert len(found) == 4


def test_nulls_count_as_absent() -> None:
    template = {"selector": None, "template": {"metadata": None, "spec": {"containers": None, "dnsConfig": None}}}
    service = {"ports": None, "selector": None}
    part = {"statefulSetSpec": template, "serviceSpec": service, "statefulSetMetadata": {"labels": None}}
    nothing = build_documents()
    for name, document in build_documents(master=part, worker=part).items():
        assert drop_nulls(document) == nothing[name]


READ_FIELDS = [
    "name",
    "env",
    "value",
    "valueFrom",
    "ports",
    "containerPort",
    "port",
    "protocol",
    "securityContext",
    "capabilities",
    "add",
    "privileged",
    "labels",
    "searches",
    "command",
    "args",
    "selector",
    "matchLabels",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(READ_FIELDS), inner, max_size=4),
    max_leaves=10,
)


@given(
    containers=st.lists(JSON, max_size=2),
    service=st.dictionaries(st.sampled_from(["ports", "selector", "clusterIP"]), JSON),
    metadata=st.dictionaries(st.sampled_from(["labels", "annotations", "ownerReferences"]), JSON),
    pod=st.dictionaries(st.sampled_from(["dnsConfig", "initContainers", "schedulerName"]), JSON),
)
def test_any_template_is_built_or_refused_with_a_path(
    containers: list[object], service: dict[str, Any], metadata: dict[str, Any], pod: dict[str, Any]
) -> None:
    part = {
        "statefulSetSpec": {"template": {"metadata": metadata, "spec": {**pod, "containers": containers}}},
        "serviceSpec": service,
        "serviceMetadata": metadata,
    }
    one = build_model(master=part, worker=part)
    found = []
    try:
        build_cluster(one, OPERATOR)
    except InvalidResource as refused:
        found = [problem.path for problem in refused.problems]
    assert all(path.startswith("spec.") for path in found)
