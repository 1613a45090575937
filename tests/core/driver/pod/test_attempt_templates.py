"""Pod templates and routes of users: valid ones, replaced ones, and ones with an invalid value at any path."""

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.attempt import (
    NamedTemplates,
    build_attempt,
    build_stand_in_templates,
    find_application_template_files,
)
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.pod.template import EXECUTOR_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.pod.volcano import POD_GROUP_TEMPLATE_KEY, VOLCANO_STEP
from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.core.driver.attempts import OPERATOR, build_application, build_resources, read_properties

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


def list_paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value inside a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (key,)
        yield from ((key, *path) for path in list_paths(part))


def replace_at(value: Any, path: tuple[str | int, ...], replacement: Any) -> Any:
    if not path:
        return replacement
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replace_at(copy[path[0]], path[1:], replacement)
    return copy


def find_refused_field(**spec: Any) -> str | None:
    """Return the message of a refusal, which begins with the path of a field; None if the attempt is built."""
    try:
        build_resources(mainClass="Main", **spec)
    except DriverBuildError as refused:
        return str(refused)
    return None


@pytest.mark.parametrize("path", tuple(list_paths(TEMPLATE)), ids=lambda path: ".".join(map(str, path)))
def test_template_with_invalid_value_at_any_path_is_built_or_refused(path: tuple[str | int, ...]) -> None:
    for wrong in WRONG:
        override = {"podTemplateSpec": replace_at(TEMPLATE, path, wrong)}
        refused = find_refused_field(driverSpec=override, executorSpec=override)
        assert refused is None or refused.startswith("spec.")


@pytest.mark.parametrize("path", tuple(list_paths(ROUTE)), ids=lambda path: ".".join(map(str, path)))
def test_route_with_invalid_value_at_any_path_is_built_or_refused(path: tuple[str | int, ...]) -> None:
    for wrong in WRONG:
        entry = replace_at(ROUTE, path, wrong)
        refused = find_refused_field(driverServiceIngressList=[entry], driverHttpRouteList=[entry])
        assert refused is None or refused.startswith("spec.")


def test_template_with_wrong_type_is_refused_with_its_path() -> None:
    template = {"spec": {"containers": [{"name": "main", "env": {"A": "b"}}]}}
    with pytest.raises(DriverBuildError) as refused:
        build_resources(mainClass="Main", driverSpec={"podTemplateSpec": template})
    assert str(refused.value) == "spec.driverSpec.podTemplateSpec: spec.containers[0].env must be a list"


@pytest.mark.parametrize("name", ["1st", "app.v2"])
def test_name_that_is_invalid_for_a_service_is_refused(name: str) -> None:
    with pytest.raises(DriverBuildError, match=r"metadata\.name"):
        build_attempt(build_application(name=name), 0, OPERATOR)


def build_templated_application(key: str) -> SparkApplication:
    return build_application({key: "/from/the/configuration"})


def test_template_named_by_configuration_is_used() -> None:
    template = {"spec": {"priorityClassName": "high"}}
    resources = build_attempt(
        build_templated_application(DRIVER_TEMPLATE_KEY), 0, OPERATOR, templates=NamedTemplates(driver=template)
    )
    assert resources.pod["spec"]["priorityClassName"] == "high"
    resources = build_attempt(
        build_templated_application(EXECUTOR_TEMPLATE_KEY), 0, OPERATOR, templates=NamedTemplates(executor="# text\n")
    )
    assert {"podspec-configmap-key": "# text\n"} in [each.get("data") for each in resources.post_resources]


def test_template_in_resource_replaces_named_template() -> None:
    template = {"podTemplateSpec": {"spec": {"priorityClassName": "resource"}}}
    given = build_application(
        {DRIVER_TEMPLATE_KEY: "/t", EXECUTOR_TEMPLATE_KEY: "/e"}, mainClass="m", driverSpec=template
    )
    assert find_application_template_files(given) == {EXECUTOR_TEMPLATE_KEY: "/e"}
    resources = build_attempt(given, 0, OPERATOR, templates=NamedTemplates(driver={"spec": {}}, executor="x"))
    assert resources.pod["spec"]["priorityClassName"] == "resource"
    assert DRIVER_TEMPLATE_KEY not in read_properties(resources)


def test_pod_group_template_is_read_only_if_volcano_is_enabled() -> None:
    conf = {POD_GROUP_TEMPLATE_KEY: "/g"}
    assert find_application_template_files(build_application(conf)) == {}
    asked = conf | {"spark.kubernetes.driver.pod.featureSteps": VOLCANO_STEP}
    assert find_application_template_files(build_application(asked)) == conf


@pytest.mark.parametrize("key", [DRIVER_TEMPLATE_KEY, EXECUTOR_TEMPLATE_KEY])
def test_stand_in_template_results_in_same_names(key: str) -> None:
    def list_names(templates: NamedTemplates) -> list[tuple[str, str]]:
        resources = build_attempt(build_templated_application(key), 0, OPERATOR, templates=templates)
        documents = (*resources.pre_resources, resources.pod, *resources.post_resources)
        return [(each["kind"], each["metadata"]["name"]) for each in documents]

    read = NamedTemplates(driver={"spec": {"priority": 1}}, executor="text")
    used = read if key == EXECUTOR_TEMPLATE_KEY else NamedTemplates(driver=read.driver)
    assert list_names(
        build_stand_in_templates(find_application_template_files(build_templated_application(key)))
    ) == list_names(used)
