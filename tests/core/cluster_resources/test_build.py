import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.problems import InvalidResource
from tests.core.cluster_resources.clusters import OPERATOR, built, cluster

ESCAPED = {"allowPrivilegeEscalation": False}


def pod_template(**spec: Any) -> dict[str, Any]:
    return {"statefulSetSpec": {"template": {"spec": spec}}}


def container_of(role: str, **modifiers: Any) -> dict[str, Any]:
    spec = built(**modifiers)[f"StatefulSet/cl-{role}"]["spec"]["template"]["spec"]
    return next(each for each in spec["containers"] if each["name"] == role)


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value") for each in container["env"]}


def without_nulls(
    value: dict[str, Any] | int | list[dict[str, Any] | str] | str,
) -> dict[str, Any] | int | list[dict[str, Any] | str] | str:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


def problems(**modifiers: Any) -> list[str]:
    with pytest.raises(InvalidResource) as caught:
        build_cluster(cluster(**modifiers), OPERATOR)
    return [str(problem) for problem in caught.value.problems]


# --- what there is ---


@pytest.mark.parametrize(
    ("minimum", "maximum", "optional"),
    [
        (0, 0, []),
        (1, 1, ["PodDisruptionBudget/cl-worker-pdb"]),
        (3, 2, ["PodDisruptionBudget/cl-worker-pdb"]),
        (1, 2, ["HorizontalPodAutoscaler/cl-worker-hpa", "PodDisruptionBudget/cl-worker-pdb"]),
        (0, 2, ["HorizontalPodAutoscaler/cl-worker-hpa"]),
    ],
    ids=["none", "fixed", "bounds that cross", "elastic", "elastic from none"],
)
def test_autoscaler_and_budget_depend_on_the_bounds(minimum: int, maximum: int, optional: list[str]) -> None:
    names = list(built(minimum=minimum, maximum=maximum))
    assert names[:5] == [
        "Service/cl-master-svc",
        "Service/cl-worker-svc",
        "StatefulSet/cl-master",
        "StatefulSet/cl-worker",
        "NetworkPolicy/cl-worker",
    ]
    assert names[5:] == optional


def test_the_same_cluster_gives_the_same_documents_and_stays_as_it_is() -> None:
    one = cluster(master=pod_template(containers=[{"name": "master"}]), maximum=3)
    before = copy.deepcopy(one.to_document())
    assert build_cluster(one, OPERATOR) == build_cluster(one, OPERATOR)
    assert one.to_document() == before


def test_every_document_belongs_to_the_cluster_in_its_namespace() -> None:
    for document in built(maximum=2).values():
        metadata = document["metadata"]
        assert metadata["namespace"] == "jobs"
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["00000000-0000-4000-8000-000000000002"]


def test_pods_of_two_clusters_are_told_apart_by_every_selector() -> None:
    mine, others = built(maximum=2), built(name="other", maximum=2)
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


def test_the_configuration_reaches_the_daemon_as_java_options() -> None:
    conf = {"spark.worker.cleanup.enabled": "true", "spark.kubernetes.namespace": "elsewhere"}
    options = environment(container_of("worker", conf=conf))["SPARK_WORKER_OPTS"]
    assert options == (
        '-Dspark.kubernetes.namespace="jobs" '
        '-Dspark.shuffle.service.enabled="true" '
        '-Dspark.worker.cleanup.enabled="true"'
    )


def test_the_shuffle_service_can_be_switched_off() -> None:
    options = environment(container_of("master", conf={"spark.shuffle.service.enabled": "false"}))["SPARK_MASTER_OPTS"]
    assert '-Dspark.shuffle.service.enabled="false"' in options


def test_quotes_and_backslashes_reach_java_as_they_are() -> None:
    conf = {"spark.x": 'say "a\\b"'}
    options = environment(container_of("master", conf=conf))["SPARK_MASTER_OPTS"]
    assert '-Dspark.x="say \\"a\\\\b\\""' in options


@pytest.mark.parametrize(
    ("conf", "template", "image"),
    [
        ({}, None, "apache/spark:4.3.0"),
        ({}, "mine:1", "mine:1"),
        ({"spark.kubernetes.container.image": "conf:{{SPARK_VERSION}}"}, "mine:1", "conf:4.3.0"),
    ],
    ids=["Spark's own of that version", "the template's", "the configuration's"],
)
def test_the_image_is_that_of_the_strongest_source(conf: dict[str, Any], template: str | None, image: str) -> None:
    container = {"name": "worker", "image": template} if template else {"name": "worker"}
    assert container_of("worker", conf=conf, worker=pod_template(containers=[container]))["image"] == image


def test_the_version_is_only_filled_in_where_an_image_is_named() -> None:
    conf = {"spark.kubernetes.driver.container.image": "d:{{SPARK_VERSION}}", "spark.x": "{{SPARK_VERSION}}"}
    options = environment(container_of("master", conf=conf))["SPARK_MASTER_OPTS"]
    assert '-Dspark.kubernetes.driver.container.image="d:4.3.0"' in options
    assert '-Dspark.x="{{SPARK_VERSION}}"' in options


@pytest.mark.parametrize(
    ("conf", "template", "scheduler"),
    [
        ({}, {}, "default-scheduler"),
        ({}, {"schedulerName": "mine"}, "mine"),
        ({"spark.kubernetes.scheduler.name": "volcano"}, {"schedulerName": "mine"}, "volcano"),
    ],
    ids=["default", "the template's", "the configuration's"],
)
def test_the_scheduler_is_that_of_the_strongest_source(
    conf: dict[str, Any], template: dict[str, Any], scheduler: str
) -> None:
    spec = built(conf=conf, master=pod_template(**template))["StatefulSet/cl-master"]["spec"]["template"]["spec"]
    assert spec["schedulerName"] == scheduler


# --- templates ---


def test_the_daemons_container_is_appended_where_the_template_has_none() -> None:
    spec = built(worker=pod_template(containers=[{"name": "log"}]))["StatefulSet/cl-worker"]["spec"]
    assert [each["name"] for each in spec["template"]["spec"]["containers"]] == ["log", "worker"]


def test_command_and_arguments_follow_the_templates() -> None:
    container = {"name": "master", "command": ["tini", "--"], "args": ["-v"]}
    found = container_of("master", master=pod_template(containers=[container]))
    assert found["command"] == ["tini", "--", "bash"]
    assert found["args"][:2] == ["-v", "-c"]


def test_workers_look_for_the_master_of_their_cluster() -> None:
    assert "start-worker.sh spark://cl-master-svc:7077 " in container_of("worker")["args"][1]


def test_options_of_the_template_are_added_last_so_that_they_win() -> None:
    container = {"name": "worker", "env": [{"name": "SPARK_WORKER_OPTS", "value": "-Da=b"}]}
    found = container_of("worker", worker=pod_template(containers=[container]))
    assert [each["name"] for each in found["env"]] == ["SPARK_WORKER_OPTS", "SPARK_LOG_DIR"]
    assert environment(found)["SPARK_WORKER_OPTS"].endswith('-Dspark.shuffle.service.enabled="true" -Da=b')


def test_an_empty_variable_of_options_adds_nothing() -> None:
    container = {"name": "worker", "env": [{"name": "SPARK_WORKER_OPTS"}]}
    found = container_of("worker", worker=pod_template(containers=[container]))
    assert environment(found)["SPARK_WORKER_OPTS"].endswith('-Dspark.shuffle.service.enabled="true"')


def test_another_variable_of_the_template_stays_as_it_is() -> None:
    entries = [{"name": "SPARK_LOG_DIR", "value": "/logs"}, {"value": "nameless"}]
    found = container_of("worker", worker=pod_template(containers=[{"name": "worker", "env": entries}]))
    assert found["env"][:2] == entries
    assert [each.get("name") for each in found["env"]].count("SPARK_LOG_DIR") == 1


def test_options_from_elsewhere_are_refused_with_their_place() -> None:
    entry = {"name": "SPARK_MASTER_OPTS", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}
    container = {"name": "master", "env": [{"name": "A", "value": "1"}, entry]}
    (problem,) = problems(master=pod_template(containers=[{"name": "log"}, container]))
    place = "spec.masterSpec.statefulSetSpec.template.spec.containers[1].env[1].valueFrom"
    assert problem.startswith(f"{place}: cannot be taken from elsewhere")


def test_ports_that_the_template_has_are_not_there_twice() -> None:
    ports = [
        {"containerPort": 8080, "hostPort": 80},
        {"name": "spark", "containerPort": 17077},
        {"containerPort": 6066, "protocol": "UDP"},
    ]
    found = container_of("master", master=pod_template(containers=[{"name": "master", "ports": ports}]))
    assert found["ports"] == [
        {"name": "web", "containerPort": 8080, "hostPort": 80},
        {"name": "spark", "containerPort": 17077},
        {"containerPort": 6066, "protocol": "UDP"},
        {"name": "rest", "containerPort": 6066},
    ]


def test_containers_may_not_escalate_unless_they_say_or_must() -> None:
    containers = [
        {"name": "master"},
        {"name": "open", "securityContext": {"allowPrivilegeEscalation": True}},
        {"name": "root", "securityContext": {"privileged": True}},
    ]
    template = pod_template(containers=containers, initContainers=[{"name": "first"}])
    spec = built(master=template)["StatefulSet/cl-master"]["spec"]["template"]["spec"]
    assert [each["securityContext"] for each in spec["containers"]] == [
        ESCAPED,
        {"allowPrivilegeEscalation": True},
        {"privileged": True},
    ]
    assert spec["initContainers"] == [{"name": "first", "securityContext": ESCAPED}]


def test_the_users_metadata_stay_but_for_what_only_the_server_sets() -> None:
    given: dict[str, Any] = {
        "labels": {"spark-role": "mine", "a": "b"},
        "annotations": {"x": "y"},
        "name": "other",
        "uid": "u",
    }
    given |= {"creationTimestamp": None, "resourceVersion": "1"}
    metadata = built(worker={"serviceMetadata": given})["Service/cl-worker-svc"]["metadata"]
    assert set(metadata) == {"name", "namespace", "labels", "annotations", "ownerReferences"}
    assert (metadata["name"], metadata["annotations"]) == ("cl-worker-svc", {"x": "y"})
    assert (metadata["labels"]["spark-role"], metadata["labels"]["a"]) == ("worker", "b")


def test_what_must_be_so_wins_over_the_template() -> None:
    template = {
        "replicas": 7,
        "podManagementPolicy": "OrderedReady",
        "serviceName": "mine",
        "minReadySeconds": 5,
        "template": {
            "metadata": {"labels": {"spark-role": "mine", "a": "b"}},
            "spec": {"terminationGracePeriodSeconds": 60, "dnsConfig": {"searches": ["mine"]}},
        },
    }
    spec = built(init=2, worker={"statefulSetSpec": template})["StatefulSet/cl-worker"]["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"], spec["serviceName"]) == (2, "Parallel", "cl-worker-svc")
    assert spec["minReadySeconds"] == 5
    assert spec["template"]["metadata"]["labels"]["spark-role"] == "worker"
    assert spec["template"]["metadata"]["labels"]["a"] == "b"
    pod = spec["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 0
    assert pod["dnsConfig"] == {"searches": ["mine", "cl-worker-svc.jobs.svc.cluster.local"]}


def test_a_service_is_headless_and_keeps_what_else_is_given() -> None:
    given = {"clusterIP": "10.0.0.1", "selector": {"a": "b"}, "ports": [{"port": 8080, "name": "ui", "targetPort": 1}]}
    spec = built(master={"serviceSpec": given})["Service/cl-master-svc"]["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["selector"] == {"a": "b", "spark-role": "master", "spark.operator/spark-cluster-name": "cl"}
    assert [(port["name"], port["port"]) for port in spec["ports"]] == [("web", 8080), ("spark", 7077), ("rest", 6066)]


def test_an_autoscaler_of_the_users_keeps_its_rules_within_the_clusters_bounds() -> None:
    given = {"minReplicas": 9, "maxReplicas": 99, "metrics": [], "scaleTargetRef": {"kind": "X", "name": "y"}}
    spec = built(maximum=3, worker={"horizontalPodAutoscalerSpec": given})["HorizontalPodAutoscaler/cl-worker-hpa"][
        "spec"
    ]
    assert (spec["minReplicas"], spec["maxReplicas"], spec["metrics"]) == (1, 3, [])
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cl-worker"}
    assert "behavior" not in spec


# --- bad input ---


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        ({"name": "c" * 46}, "metadata.name: has 46 characters"),
        ({"name": "a.b"}, "metadata.name: 'a.b' cannot name the cluster's services"),
        ({"version": "4.3 beta"}, "spec.runtimeVersions.sparkVersion: is put into a label"),
        ({"version": ""}, "spec.runtimeVersions.sparkVersion: is put into a label"),
        (
            {"master": {"statefulSetSpec": {"template": []}}},
            "spec.masterSpec.statefulSetSpec.template: must be an object (key: value pairs), not a list",
        ),
        (
            {"worker": pod_template(containers={"name": "worker"})},
            "spec.workerSpec.statefulSetSpec.template.spec.containers: must be a list, not an object",
        ),
        (
            {"worker": pod_template(containers=["worker"])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0]: must be an object",
        ),
        (
            {"worker": pod_template(containers=[None])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0]: must be an object",
        ),
        (
            {"worker": pod_template(containers=[{"env": [{"name": "A", "value": 1}]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].env[0].value: "
            "must be a string, not a number: put it in quotes",
        ),
        (
            {"worker": pod_template(containers=[{"args": [None]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].args[0]: must be a string, not null",
        ),
        (
            {"worker": pod_template(containers=[{"ports": [{"containerPort": "80"}]}])},
            "spec.workerSpec.statefulSetSpec.template.spec.containers[0].ports[0].containerPort: "
            "must be an integer, not a string",
        ),
        (
            {"master": {"serviceSpec": {"selector": "a=b"}}},
            "spec.masterSpec.serviceSpec.selector: must be an object (key: value pairs), not a string",
        ),
    ],
)
def test_what_cannot_be_built_upon_is_named(modifiers: dict[str, Any], expected: str) -> None:
    (problem,) = problems(**modifiers)
    assert problem.startswith(expected)


def test_all_problems_are_told_at_once() -> None:
    found = problems(
        name="A", version="?", master={"serviceMetadata": {"labels": 1}}, worker={"serviceSpec": {"ports": 1}}
    )
    assert len(found) == 4


def test_nulls_stand_for_nothing() -> None:
    template = {"selector": None, "template": {"metadata": None, "spec": {"containers": None, "dnsConfig": None}}}
    service = {"ports": None, "selector": None}
    part = {"statefulSetSpec": template, "serviceSpec": service, "statefulSetMetadata": {"labels": None}}
    nothing = built()
    for name, document in built(master=part, worker=part).items():
        assert without_nulls(document) == nothing[name]


LOOKED_INTO = [
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
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(LOOKED_INTO), inner, max_size=4),
    max_leaves=10,
)


@given(
    containers=st.lists(JSON, max_size=2),
    service=st.dictionaries(st.sampled_from(["ports", "selector", "clusterIP"]), JSON),
    metadata=st.dictionaries(st.sampled_from(["labels", "annotations", "ownerReferences"]), JSON),
    pod=st.dictionaries(st.sampled_from(["dnsConfig", "initContainers", "schedulerName"]), JSON),
)
def test_whatever_the_templates_hold_is_built_or_refused_with_a_sentence(
    containers: list[object], service: dict[str, Any], metadata: dict[str, Any], pod: dict[str, Any]
) -> None:
    part = {
        "statefulSetSpec": {"template": {"metadata": metadata, "spec": {**pod, "containers": containers}}},
        "serviceSpec": service,
        "serviceMetadata": metadata,
    }
    one = cluster(master=part, worker=part)
    found = []
    try:
        build_cluster(one, OPERATOR)
    except InvalidResource as refused:
        found = [problem.path for problem in refused.problems]
    assert all(path.startswith("spec.") for path in found)
