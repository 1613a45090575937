"""The parameters of queues and schedulers, in the composed application."""

import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameter_types import PENDING
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.parameters import Scheduler

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"
VOLCANO_STEP = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
TEMPLATE_JSON = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"


def compose(api_version: str | None = None, conf: dict[str, str] | None = None, **parameters: Any) -> dict[str, Any]:
    document = new_application(api_version)
    document["spec"] = {"sparkConf": conf} if conf else {}
    return apply_parameters(document, Parameters(**parameters))


def compose_conf(conf: dict[str, str] | None = None, **parameters: Any) -> dict[str, str]:
    written: dict[str, str] = compose(conf=conf, **parameters)["spec"]["sparkConf"]
    return written


@pytest.mark.parametrize("api_version", [None, KUBEFLOW])
def test_queue_and_priority_are_labels_of_the_application_and_not_of_its_pods(api_version: str | None) -> None:
    written = compose(api_version, kueue_queue=" team-a ", kueue_priority="high", labels={"team": "data"})
    assert written["metadata"]["labels"] == {
        "team": "data",
        "kueue.x-k8s.io/queue-name": "team-a",
        "kueue.x-k8s.io/priority-class": "high",
    }
    assert "kueue.x-k8s.io" not in json.dumps(written["spec"])


def test_queue_overrides_the_label_of_the_manifest() -> None:
    document = new_application() | {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "old", "kept": "1"}}}
    written = apply_parameters(document, Parameters(kueue_queue="new"))
    assert written["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "new", "kept": "1"}


def test_yunikorn_gets_the_queue_and_the_application_of_each_pod() -> None:
    assert compose_conf(scheduler=Scheduler("yunikorn", queue="root.data")) == {
        "spark.kubernetes.scheduler.name": "yunikorn",
        "spark.kubernetes.driver.label.queue": "root.data",
        "spark.kubernetes.executor.label.queue": "root.data",
        "spark.kubernetes.driver.annotation.yunikorn.apache.org/app-id": "{{APP_ID}}",
        "spark.kubernetes.executor.annotation.yunikorn.apache.org/app-id": "{{APP_ID}}",
    }


def test_yunikorn_without_a_queue_sets_no_label() -> None:
    assert not any(".label." in key for key in compose_conf(scheduler="yunikorn"))


def test_volcano_gets_the_feature_steps_and_the_queue_of_the_pod_group() -> None:
    before = {
        "spark.kubernetes.driver.pod.featureSteps": "com.example.Step",
        "spark.kubernetes.executor.scheduler.name": "old",
        TEMPLATE_JSON: '{"spec": {"minMember": 3}}',
    }
    conf = compose_conf(before, scheduler={"name": "volcano", "queue": "data"})
    assert json.loads(conf.pop(TEMPLATE_JSON)) == {"spec": {"minMember": 3, "queue": "data"}}
    assert conf == {
        "spark.kubernetes.scheduler.name": "volcano",
        "spark.kubernetes.driver.pod.featureSteps": f"com.example.Step,{VOLCANO_STEP}",
        "spark.kubernetes.executor.pod.featureSteps": VOLCANO_STEP,
    }


def test_volcano_without_a_queue_keeps_the_template_of_the_manifest() -> None:
    key = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
    assert compose_conf({key: "/template.yaml"}, scheduler="volcano")[key] == "/template.yaml"


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            {"spark.kubernetes.scheduler.volcano.podGroupTemplateFile": "/template.yaml"},
            r"scheduler: queue cannot be set together with .*podGroupTemplateFile: set the queue in that file",
        ),
        ({TEMPLATE_JSON: "{"}, r"podGroupTemplateJson: must be a JSON object"),
        ({TEMPLATE_JSON: "[]"}, r"podGroupTemplateJson: must be a JSON object"),
        ({TEMPLATE_JSON: '{"spec": 1}'}, r"podGroupTemplateJson: must be a JSON object, and its spec"),
    ],
)
def test_volcano_queue_rejects_a_template_that_it_cannot_extend(conf: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidResource, match=message):
        compose(conf=conf, scheduler=Scheduler("volcano", queue="data"))


def test_other_scheduler_is_named_for_both_dialects() -> None:
    expected = {"spark.kubernetes.scheduler.name": "bin-packing"}
    assert compose_conf(scheduler="bin-packing") == expected
    assert compose(KUBEFLOW, scheduler="bin-packing")["spec"]["sparkConf"] == expected


def test_kubeflow_gets_its_own_fields() -> None:
    document = new_application(KUBEFLOW)
    document["spec"] = {"batchSchedulerOptions": {"priorityClassName": "high"}}
    spec = apply_parameters(document, Parameters(scheduler=Scheduler("volcano", queue="data")))["spec"]
    assert spec["batchScheduler"] == "volcano"
    assert spec["batchSchedulerOptions"] == {"priorityClassName": "high", "queue": "data"}
    assert compose(KUBEFLOW, scheduler="yunikorn")["spec"].get("batchSchedulerOptions") is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kueue_queue": "Team A"}, r"kueue_queue: must be the name of a LocalQueue, not 'Team A'"),
        ({"kueue_priority": 7}, r"kueue_priority: must be the name of a WorkloadPriorityClass, not 7"),
        ({"scheduler": Scheduler("default", queue="q")}, r"scheduler: queue is supported for 'volcano' and 'yunikorn'"),
        ({"scheduler": Scheduler("volcano", queue="a b")}, r"scheduler\.queue: must be the name of a queue"),
        ({"scheduler": {"queue": "data"}}, r"scheduler: needs name"),
        ({"scheduler": "Volcano!"}, r"scheduler: must be the name of an object"),
        ({"scheduler": 1}, r"scheduler: must be a Scheduler or a dict with its parameters, not int"),
    ],
)
def test_invalid_value_is_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidResource, match=message):
        compose(**parameters)


def test_values_that_are_not_known_yet_are_accepted() -> None:
    unknown = Parameters(kueue_queue="{{ params.queue }}", scheduler={"name": PENDING, "queue": "data"})
    assert find_problems(unknown) == []


@pytest.mark.parametrize(
    ("parameters", "is_accepted"),
    [
        ({}, False),
        ({"kueue_queue": "team-a"}, True),
        ({"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}, True),
        ({"labels": PENDING}, True),
        ({"labels": {"team": "data"}}, False),
    ],
)
def test_priority_needs_a_queue_if_there_is_no_manifest(parameters: dict[str, Any], is_accepted: bool) -> None:
    program: dict[str, Any] = {"py_file": "local:///job.py", "image": "spark:4.3.0"}
    problems = find_problems(Parameters(kueue_priority="high", **program, **parameters), alone=True)
    assert [problem.path for problem in problems] == ([] if is_accepted else ["kueue_priority"])


@pytest.mark.parametrize(("allocation", "is_accepted"), [(True, False), ({"max": 3}, False), (False, True)])
def test_kubeflow_rejects_dynamic_allocation_in_a_queue(allocation: object, is_accepted: bool) -> None:
    if is_accepted:
        compose(KUBEFLOW, kueue_queue="team-a", dynamic_allocation=allocation)
        return
    with pytest.raises(InvalidResource, match="kueue_queue: cannot be combined with dynamic_allocation"):
        compose(KUBEFLOW, kueue_queue="team-a", dynamic_allocation=allocation)
