"""`spark-operator completion`: print the completion script of a shell."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from ..base.errors import ExitCode
from ..options.declaration import Parameter


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def run(shell: Annotated[Shell, Parameter("bash|zsh|fish", "the shell")]) -> ExitCode:
    """Print the completion script of a shell.

    It completes verbs, options and their values, fields, and the names of contexts, namespaces, applications,
    executors and SparkClusters. If the cluster does not answer within two seconds, no names of its objects are
    completed.

    Examples:
        # Complete in each new bash
        echo 'source <(spark-operator completion bash)' >> ~/.bashrc

        # Complete in each new zsh; ~/.zshrc must call compinit before this line
        echo 'source <(spark-operator completion zsh)' >> ~/.zshrc

        # Complete in each new fish
        spark-operator completion fish > ~/.config/fish/completions/spark-operator.fish
    """
    print(Path(__file__).with_suffix(f".{shell}").read_text(encoding="utf-8"), end="")
    return ExitCode.SUCCESS
