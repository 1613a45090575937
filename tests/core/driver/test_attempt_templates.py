"""Pod templates and routes as users write them: used, replaced, or wrong anywhere."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.attempt import (
    build_attempt,
)
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.executor_template import EXECUTOR_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.named_files import (
    NamedTemplates,
    application_template_files,
    unread_templates,
)
from airflow_provider_spark_operator.core.driver.volcano import POD_GROUP_TEMPLATE_KEY, VOLCANO_STEP
from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.core.driver.attempts import OPERATOR, application, attempt, properties

WRONG: list[Any] = [None, 1, True, "a", [], {}, [1], [None], ["a"], [{}], {"name": 1}, {"a": None}, {"ports": []}]
TEMPLATE = {
    "metadata": {"name": "x", "namespace": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "nodeSelector": {"a": "b"},
        "imagePullSecrets": [{"name": "x"}],
        "volumes": [{"name": "spark-local-dir-1", "emptyDir": {}}],
        "initContainers": [{"name": "i", "securityContext": {"capabilities": {"add": ["X"]}}}],
        "containers": [
            {
                "name": "main",
                "args": ["a"],
                "env": [{"name": "A", "value": "b"}],
                "ports": [{"containerPort": 1}],
                "volumeMounts": [{"name": "spark-local-dir-1", "mountPath": "/l"}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"x": "1"}},
                "securityContext": {"capabilities": {"add": ["X"]}},
            }
        ],
    },
}
ROUTE = {
    "serviceMetadata": {"name": "s", "labels": {"a": "b"}},
    "serviceSpec": {"ports": [{"port": 1}], "selector": {"a": "b"}},
    "ingressMetadata": {"name": "i"},
    "ingressSpec": {"rules": []},
    "httpRouteMetadata": {"name": "i"},
    "httpRouteSpec": {"parentRefs": [{"name": "g"}], "rules": []},
}


def paths_in(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The way to each part of a JSON value below its root."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (key,)
        yield from ((key, *path) for path in paths_in(part))


def replaced(value: Any, path: tuple[str | int, ...], replacement: Any) -> Any:
    if not path:
        return replacement
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], replacement)
    return copy


@pytest.mark.parametrize("path", tuple(paths_in(TEMPLATE)), ids=lambda path: ".".join(map(str, path)))
def test_a_template_that_is_wrong_anywhere_is_built_or_refused(path: tuple[str | int, ...]) -> None:
    for wrong in WRONG:
        override = {"podTemplateSpec": replaced(TEMPLATE, path, wrong)}
        with suppress(DriverBuildError):
            attempt(mainClass="Main", driverSpec=override, executorSpec=override)


@pytest.mark.parametrize("path", tuple(paths_in(ROUTE)), ids=lambda path: ".".join(map(str, path)))
def test_a_route_that_is_wrong_anywhere_is_built_or_refused(path: tuple[str | int, ...]) -> None:
    for wrong in WRONG:
        entry = replaced(ROUTE, path, wrong)
        with suppress(DriverBuildError):
            attempt(mainClass="Main", driverServiceIngressList=[entry], driverHttpRouteList=[entry])


def test_a_template_of_a_wrong_shape_is_refused_at_its_place() -> None:
    template = {"spec": {"containers": [{"name": "main", "env": {"A": "b"}}]}}
    with pytest.raises(DriverBuildError) as refused:
        attempt(mainClass="Main", driverSpec={"podTemplateSpec": template})
    assert str(refused.value) == "spec.driverSpec.podTemplateSpec: spec.containers[0].env must be a list"


@pytest.mark.parametrize("name", ["1st", "app.v2"])
def test_a_name_that_makes_no_service_is_refused_before_anything_is_created(name: str) -> None:
    with pytest.raises(DriverBuildError, match=r"metadata\.name"):
        build_attempt(application(name=name), 0, OPERATOR)


def templated(key: str) -> SparkApplication:
    return application({key: "/from/the/configuration"})


def test_a_template_that_the_configuration_names_is_used() -> None:
    template = {"spec": {"priorityClassName": "high"}}
    resources = build_attempt(templated(DRIVER_TEMPLATE_KEY), 0, OPERATOR, templates=NamedTemplates(driver=template))
    assert resources.pod["spec"]["priorityClassName"] == "high"
    resources = build_attempt(
        templated(EXECUTOR_TEMPLATE_KEY), 0, OPERATOR, templates=NamedTemplates(executor="# text\n")
    )
    assert {"podspec-configmap-key": "# text\n"} in [each.get("data") for each in resources.post_resources]


def test_a_template_in_the_resource_takes_the_place_of_a_named_one() -> None:
    template = {"podTemplateSpec": {"spec": {"priorityClassName": "resource"}}}
    given = application({DRIVER_TEMPLATE_KEY: "/t", EXECUTOR_TEMPLATE_KEY: "/e"}, mainClass="m", driverSpec=template)
    assert application_template_files(given) == {EXECUTOR_TEMPLATE_KEY: "/e"}
    resources = build_attempt(given, 0, OPERATOR, templates=NamedTemplates(driver={"spec": {}}, executor="x"))
    assert resources.pod["spec"]["priorityClassName"] == "resource"
    assert DRIVER_TEMPLATE_KEY not in properties(resources)


def test_a_group_of_pods_is_read_only_where_volcano_is_asked_for() -> None:
    conf = {POD_GROUP_TEMPLATE_KEY: "/g"}
    assert application_template_files(application(conf)) == {}
    asked = conf | {"spark.kubernetes.driver.pod.featureSteps": VOLCANO_STEP}
    assert application_template_files(application(asked)) == conf


@pytest.mark.parametrize("key", [DRIVER_TEMPLATE_KEY, EXECUTOR_TEMPLATE_KEY])
def test_an_unread_template_leads_to_the_same_names(key: str) -> None:
    def names(templates: NamedTemplates) -> list[tuple[str, str]]:
        resources = build_attempt(templated(key), 0, OPERATOR, templates=templates)
        documents = (*resources.pre_resources, resources.pod, *resources.post_resources)
        return [(each["kind"], each["metadata"]["name"]) for each in documents]

    read = NamedTemplates(driver={"spec": {"priority": 1}}, executor="text")
    used = read if key == EXECUTOR_TEMPLATE_KEY else NamedTemplates(driver=read.driver)
    assert names(unread_templates(application_template_files(templated(key)))) == names(used)
