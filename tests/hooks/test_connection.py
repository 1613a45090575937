import json
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, AirflowNotFoundException
from airflow_provider_spark_operator.hooks.connection import async_read_access, parse_extras, read_access
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.operators.current_try import begin_try
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context

KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [{"user": {"token": "s3cret"}}]}


def define(
    monkeypatch: pytest.MonkeyPatch, conn_id: str, conn_type: str = "kubernetes", host: str = "", **extra: Any
) -> None:
    document = json.dumps({"conn_type": conn_type, "host": host, "extra": extra})
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", document)


@pytest.fixture(params=["worker", "trigger"])
async def read(request: pytest.FixtureRequest) -> Callable[[str | None], Awaitable[ClusterAccess]]:
    """Both functions: the synchronous one for workers and the asynchronous one for triggers."""
    if request.param == "trigger":
        return async_read_access

    async def read_as_a_worker(conn_id: str | None) -> ClusterAccess:
        return read_access(conn_id)

    return read_as_a_worker


async def test_connection_with_a_kubeconfig_path(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    define(monkeypatch, "spark", kube_config_path="/etc/kubeconfig", cluster_context="prod", namespace="jobs")
    access = await read("spark")
    assert access.kubeconfig == "/etc/kubeconfig"
    assert access.context == "prod"
    assert access.namespace == "jobs"
    assert access.in_cluster is False
    assert access.verify_ssl is True


@pytest.mark.parametrize("value", [KUBECONFIG, json.dumps(KUBECONFIG)], ids=["object", "text"])
async def test_connection_that_holds_the_kubeconfig(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]], value: dict[str, Any] | str
) -> None:
    define(monkeypatch, "spark", kube_config=value)
    access = await read("spark")
    assert access.kubeconfig_document == KUBECONFIG


async def test_service_account_of_the_pod(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    define(monkeypatch, "spark", in_cluster=True)
    assert (await read("spark")).in_cluster is True


@pytest.mark.parametrize(
    ("value", "verified"), [(True, False), ("True", False), (False, True), ("false", True), ("", True)]
)
def test_certificate_verification_can_be_disabled(value: bool | str, verified: bool) -> None:
    assert parse_extras("spark", {"disable_verify_ssl": value}).verify_ssl is verified


@pytest.mark.parametrize("value", ["maybe", "disabled", "never", 2, [False]])
@pytest.mark.parametrize("name", ["disable_verify_ssl", "in_cluster", "use_internal_ip"])
def test_flag_with_another_value_is_rejected(name: str, value: object) -> None:
    with pytest.raises(AirflowFailException, match=rf"'spark' is invalid: {name} must be true or false, not "):
        parse_extras("spark", {name: value})


def test_invalid_namespace_is_rejected() -> None:
    with pytest.raises(AirflowFailException, match="'spark' is invalid: namespace 'A_B': use at most 63 lowercase"):
        parse_extras("spark", {"namespace": "A_B"})


@pytest.mark.parametrize(
    ("host", "extra", "unused"),
    [("", {"eks_clusterr": "a"}, "the extra 'eks_clusterr'"), ("10.0.0.1", {"namespace": "jobs"}, "the host")],
)
@pytest.mark.parametrize("kind", ["sparkkubernetes", "spark_kubernetes"], ids=["new type", "old type"])
async def test_connection_that_was_meant_for_another_cluster_does_not_select_the_default_one(
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[str | None], Awaitable[ClusterAccess]],
    host: str,
    extra: dict[str, str],
    unused: str,
    kind: str,
) -> None:
    define(monkeypatch, "spark", kind, host, **extra)
    with pytest.raises(
        AirflowFailException, match=f"'spark' selects no cluster, and these settings are not used: {unused}"
    ):
        await read("spark")


async def test_connection_with_a_namespace_alone_selects_the_default_cluster(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    define(monkeypatch, "spark", "sparkkubernetes", namespace="jobs")
    assert (await read("spark")).namespace == "jobs"


def test_fields_of_old_releases_carry_a_prefix() -> None:
    access = parse_extras("spark", {"extra__kubernetes__namespace": "old", "namespace": "new"})
    assert access.namespace == "new"
    assert parse_extras("spark", {"extra__kubernetes__namespace": "old"}).namespace == "old"


@pytest.mark.parametrize("conn_id", [None, "kubernetes_default"])
async def test_default_connection_need_not_exist(
    read: Callable[[str | None], Awaitable[ClusterAccess]], conn_id: str | None
) -> None:
    access = await read(conn_id)
    assert access.kubeconfig is None
    assert access.kubeconfig_document is None
    assert access.in_cluster is False


def test_inside_a_pod_its_service_account_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    monkeypatch.setattr("airflow_provider_spark_operator.hooks.connection._SERVICE_ACCOUNT_TOKEN", tmp_path / "token")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert parse_extras(None, {}).in_cluster is True
    assert parse_extras("spark", {"kube_config_path": "/etc/kubeconfig"}).in_cluster is False


async def test_missing_connection_is_named(read: Callable[[str | None], Awaitable[ClusterAccess]]) -> None:
    with pytest.raises(AirflowNotFoundException, match="'no_such_one' is not defined") as caught:
        await read("no_such_one")
    assert "".join(traceback.format_exception(caught.value)).count("'no_such_one' is") == 1


def test_try_reports_a_missing_connection_once() -> None:
    with pytest.raises(AirflowNotFoundException) as caught:
        begin_try(operator(kubernetes_conn_id="no_such_one"), build_context(TaskInstance()), None, None)
    assert "".join(traceback.format_exception(caught.value)).count("'no_such_one' is") == 1


def test_two_sources_of_configuration_are_rejected() -> None:
    with pytest.raises(AirflowFailException, match=r"'spark' sets in_cluster and kube_config_path\. Set only one"):
        parse_extras("spark", {"in_cluster": True, "kube_config_path": "/etc/kubeconfig"})


@pytest.mark.needs_airflow("3.2")  # older versions do not find such a connection in an environment variable
async def test_extra_that_is_not_json_does_not_select_the_default_cluster(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    document = json.dumps({"conn_type": "kubernetes", "extra": "{kube_config_path: /etc"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", document)
    with pytest.raises(AirflowFailException, match="the extra of connection 'spark' is not a JSON object"):
        await read("spark")


@pytest.mark.parametrize("value", ["{token: s3cret", "s3cret"])
def test_invalid_kubeconfig_is_rejected_without_quoting_it(value: str) -> None:
    with pytest.raises(AirflowFailException, match="kube_config of connection 'spark' is not a kubeconfig") as caught:
        parse_extras("spark", {"kube_config": value})
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_connection_can_be_read_again_after_it_was_edited(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    define(monkeypatch, "spark", kube_config_path="/etc/one")
    access = await read("spark")
    define(monkeypatch, "spark", kube_config_path="/etc/two")
    assert access.reread is not None
    latest = await access.reread()
    assert latest.kubeconfig == "/etc/two"
    assert latest.source == access.source == "connection 'spark'"


async def test_default_connection_that_was_deleted_is_not_replaced_by_another_cluster(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | None], Awaitable[ClusterAccess]]
) -> None:
    define(monkeypatch, "kubernetes_default", kube_config_path="/etc/one")
    access = await read("kubernetes_default")
    monkeypatch.delenv("AIRFLOW_CONN_KUBERNETES_DEFAULT")
    assert access.reread is not None
    with pytest.raises(AirflowNotFoundException, match="is no longer defined"):
        await access.reread()
