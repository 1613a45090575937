"""The settings file of the controller, for every verb that speaks of what the controller does."""

from airflow_provider_spark_operator.cli.documents import describe_source, read_text
from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.reconcile.settings import (
    ControllerSettings,
    SettingsError,
    parse_properties_settings,
    parse_yaml_settings,
)


def read_settings(path: str | None) -> ControllerSettings:
    """What the file says, or the defaults if there is none; keys that have no meaning here are noted on stderr.

    Raises:
        CommandError: it cannot be read, or a value in it does not fit.
    """
    if not path:
        return ControllerSettings()
    text = read_text(path)
    read = parse_properties_settings if path.endswith(".properties") else parse_yaml_settings
    try:
        settings = read(text)
    except SettingsError as error:
        raise CommandError(f"{describe_source(path)}: {error}", ExitCode.INVALID) from None
    for key in settings.ignored:
        print_note(f"{describe_source(path)}: {key} has no meaning here and is ignored")
    return settings
