from airflow_provider_spark_operator.core.parameters.parameter_types import with_placeholders


def test_placeholders_render_as_themselves() -> None:
    context = {"ds": "2026-01-02"}
    rendered = with_placeholders(context)
    assert rendered["APP_ID"] == "{{APP_ID}}"
    assert rendered["ds"] == "2026-01-02"
    assert context == {"ds": "2026-01-02"}


def test_user_defined_macro_takes_precedence_over_placeholder() -> None:
    assert "EXECUTOR_ID" not in with_placeholders({}, {"EXECUTOR_ID"})


def test_context_with_placeholders_is_returned_unchanged() -> None:
    context = with_placeholders({"ds": "2026-01-02"})
    assert with_placeholders(context) is context
