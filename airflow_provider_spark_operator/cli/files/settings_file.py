"""Read the settings file of the controller."""

from ...reconcile.settings.settings import (
    ControllerSettings,
    SettingsError,
    parse_properties_settings,
    parse_yaml_settings,
)
from ..base.errors import CommandError, ExitCode, print_note
from .documents import describe_source, read_text


def read_settings(path: str | None) -> ControllerSettings:
    """Return the settings of a file. Print a note for each key that is not supported.

    Args:
        path: The path of the file. If None, the default settings are used.

    Raises:
        CommandError: The file could not be read, or a value in it is invalid.
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
        print_note(f"{describe_source(path)}: {key} is not supported and is ignored")
    return settings
