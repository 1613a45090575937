"""The connection form for Airflow 3.0 and 3.1, which have no declarative forms."""

from typing import Any

from ..provider import build_connection_fields


def build_widgets() -> dict[str, Any]:
    """Build a form field for each field in the metadata of the provider.

    Airflow's API server replaces the libraries of the fields while it calls this function, and does not need them.
    """
    from flask_appbuilder.fieldwidgets import BS3PasswordFieldWidget, BS3TextFieldWidget
    from wtforms import BooleanField, PasswordField, StringField

    def build(field: dict[str, Any]) -> Any:
        texts = {"label": field["label"], "description": field["description"]}
        if field["schema"].get("format") == "password":
            return PasswordField(**texts, widget=BS3PasswordFieldWidget())
        if "boolean" in field["schema"]["type"]:
            return BooleanField(**texts)
        return StringField(**texts, widget=BS3TextFieldWidget())

    return {name: build(field) for name, field in build_connection_fields().items()}
