"""`spark-operator complete`: print the words that can follow on the command line, for the scripts of `completion`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final

from click.shell_completion import ShellComplete

from ..base.errors import CommandError, ExitCode
from ..base.program_name import PROGRAM
from ..options.declaration import Parameter
from .program import build_program

FILES: Final = ":files"
"""The only line of the output if the shell has to complete the name of a file."""
FOLDERS: Final = ":folders"
"""The only line of the output if the shell has to complete the name of a folder."""

_OPTION_OF_VALUE: Final = re.compile(r"--[a-z][a-z-]*=")


def run(
    words: Annotated[
        list[str] | None, Parameter("WORD…", "the words of the command line after `spark-operator`")
    ] = None,
) -> ExitCode:
    """Print the possible completions of the last word, one per line: the completion, a tab, and its meaning.

    If the last word is the name of a file or a folder, the command prints `:files` or `:folders`.

    Examples:
        spark-operator complete -- local ''
    """
    given = words or [""]
    *before, incomplete = _join(given)
    option = _OPTION_OF_VALUE.match(incomplete)
    # bash passes `--state=Fa` as the three words `--state`, `=` and `Fa`, and replaces only the last one.
    replaced = option[0] if option and "=" not in given[-2:] else ""
    value = incomplete[option.end() :] if option else incomplete
    with suppress(CommandError):  # the verb needs a package that is not installed
        for item in ShellComplete(build_program(), {}, PROGRAM, "").get_completions(before, incomplete):
            if item.type in ("file", "dir"):
                print(FILES if item.type == "file" else FOLDERS)
            elif item.value.startswith(value):
                print(f"{replaced}{item.value}\t{' '.join((item.help or '').split())}")
    return ExitCode.SUCCESS


def _join(words: Sequence[str]) -> list[str]:
    """Return the words as the user typed them: bash splits `--set a=b` at the equals sign."""
    joined: list[str] = []
    for position, word in enumerate(words):
        if joined and (word == "=" or words[position - 1] == "="):
            joined[-1] += word
        else:
            joined.append(word)
    return joined
