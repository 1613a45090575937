"""The files that contain documents, and the folders of a DAG. DAG files import this module."""

from pathlib import Path

import jinja2
from airflow.sdk import XComArg

from ..airflow_compat import AirflowFailException
from ..core.compose.document import is_file_name
from ..core.compose.sql import SqlText, is_sql_file
from ..hooks.text_file import build_read_error, read_text_file

SQL = "SQL"
"""The word for the content of a file with SQL statements, in messages."""


def may_be_file(source: object) -> bool:
    """Return whether `source` can be the path of a file after rendering: one line, or the result of another task."""
    return isinstance(source, XComArg) or (isinstance(source, str) and "\n" not in source)


def read_source(path: str, environment: jinja2.Environment, noun: str = "application") -> str:
    """Return the text of a file without rendering its templates.

    Args:
        path: Path of the file: absolute, or relative to the DAG's folder or its `template_searchpath`.
        environment: The template environment of the DAG, whose loader knows these folders.
        noun: What the file contains, for messages.

    Raises:
        AirflowFailException: The file does not exist or cannot be read.
    """
    try:
        if Path(path).is_absolute():
            return read_text_file(path, noun)
        if environment.loader is None:
            raise jinja2.TemplateNotFound(path)
        return environment.loader.get_source(environment, path)[0]
    except jinja2.TemplateNotFound as error:
        searched = ", ".join(list_folders(environment)) or "any folder"
        raise AirflowFailException(f"could not find {noun} file {path!r} in {searched}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise build_read_error(path, noun, error) from error


def read_rendered(
    path: object, content: object, environment: jinja2.Environment, noun: str
) -> tuple[object, AirflowFailException | None]:
    """Return the text of a file at a rendered path, or `content` if `path` is not the path of a file.

    If the file cannot be read, the path and the error are returned.

    Args:
        path: The rendered value of a template.
        content: The value before it was rendered.
        environment: The template environment of the DAG.
        noun: What the file contains, for messages.
    """
    is_sql = noun == SQL
    if not isinstance(path, str) or not (is_sql_file(path) if is_sql else is_file_name(path)):
        return content, None
    try:
        text = read_source(path, environment, noun)
        return SqlText(text, path) if is_sql else text, None
    except AirflowFailException as error:
        return path, error


def list_folders(environment: jinja2.Environment) -> list[str]:
    """Return the folders in which files of the DAG are searched: its own, then its `template_searchpath`."""
    return [str(folder) for folder in getattr(environment.loader, "searchpath", ())]
