"""The connection form, and the Test button."""

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import import_string
from airflow_provider_spark_operator.hooks.clouds.clusters import FIELDS
from airflow_provider_spark_operator.hooks.connection_form import build_widgets
from airflow_provider_spark_operator.hooks.spark_application import SparkApplicationHook
from airflow_provider_spark_operator.provider import build_connection_fields, get_provider_info
from tests.cluster import Cluster


def test_form_has_a_field_for_each_setting_of_managed_clusters() -> None:
    settings = {name for source, fields in FIELDS.items() for name in (source, *fields)}
    assert settings <= set(build_connection_fields())


@pytest.mark.needs_airflow("3.2")  # older versions need the provider fab
def test_airflow_shows_the_form() -> None:
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()  # type: ignore[no-untyped-call]
    for kind in ("sparkkubernetes", "spark_kubernetes"):
        prefix = f"extra__{kind}__"
        shown = {name.removeprefix(prefix) for name in manager.connection_form_widgets if name.startswith(prefix)}
        assert shown == set(build_connection_fields())
        assert manager.connection_form_widgets[f"{prefix}kube_config"].is_sensitive
        assert "password" in manager.field_behaviours[kind]["hidden_fields"]


def test_each_connection_type_has_a_hook_of_this_type() -> None:
    types = get_provider_info()["connection-types"]
    assert {one["connection-type"]: import_string(one["hook-class-name"]).conn_type for one in types} == {
        "sparkkubernetes": "sparkkubernetes",
        "spark_kubernetes": "spark_kubernetes",
    }


def test_form_of_old_airflow_has_the_same_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    class Field:
        def __init__(self, label: str, description: str, widget: Any = None) -> None:
            self.label = label

    class Password(Field):
        pass

    class Boolean(Field):
        pass

    # Airflow's API server installs such modules while it reads the forms.
    forms, widgets = ModuleType("wtforms"), ModuleType("flask_appbuilder.fieldwidgets")
    vars(forms).update(StringField=Field, PasswordField=Password, BooleanField=Boolean)
    vars(widgets).update(BS3TextFieldWidget=object, BS3PasswordFieldWidget=object)
    for module in (forms, ModuleType("flask_appbuilder"), widgets):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    built = build_widgets()
    assert {name: field.label for name, field in built.items()} == {
        name: field["label"] for name, field in build_connection_fields().items()
    }
    assert [name for name, field in built.items() if isinstance(field, Password)] == ["kube_config"]
    assert "in_cluster" in [name for name, field in built.items() if isinstance(field, Boolean)]
    assert SparkApplicationHook.get_ui_field_behaviour()["hidden_fields"][-1] == "extra"


def test_connection_to_a_usable_cluster_passes(spark_cluster: Cluster) -> None:
    passed, message = SparkApplicationHook("kubernetes_default").test_connection()
    assert passed, message
    assert "SparkApplication of spark.apache.org (v1" in message


def test_test_of_an_open_hook_leaves_it_usable(spark_cluster: Cluster) -> None:
    with SparkApplicationHook("kubernetes_default") as hook:
        assert hook.list_applications() == []
        assert hook.test_connection()[0]
        assert hook.list_applications() == []


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"kube_config_path": "/no/such/file"}, "kubeconfig /no/such/file does not exist"),
        ({"gke_cluster": "a"}, "connection 'broken' is invalid: location is missing"),
    ],
)
def test_invalid_connection_fails_with_its_problem(
    extra: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_BROKEN", json.dumps({"conn_type": "sparkkubernetes", "extra": extra}))
    passed, found = SparkApplicationHook("broken").test_connection()
    assert not passed
    assert message in found
