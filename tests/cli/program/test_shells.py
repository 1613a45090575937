"""The completion scripts in real shells: the tests press Tab in a terminal."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.screen import Screen, needs_tmux, open_screen
from tests.cluster import Cluster, stay_submitted

pytestmark = needs_tmux

# The command that starts each shell, the file with the completion script, and the text of this file.
SHELLS = {
    "bash": ("bash --rcfile ~/.bashrc", ".bashrc", "PS1='READY> '\n{script}"),
    "zsh": ("zsh", ".functions/_spark-operator", "{script}"),
    "fish": ("fish", ".config/fish/completions/spark-operator.fish", "{script}"),
}
SETTINGS = {
    ".zshrc": "PS1='READY> '\nfpath=(~/.functions $fpath)\nautoload -U compinit\ncompinit -u\n",
    ".config/fish/config.fish": "set -g fish_greeting\nfunction fish_prompt; echo -n 'READY> '; end\n",
    ".local/fish/generated_completions/none.fish": "",  # otherwise, fish reads all manual pages in the background
}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@contextmanager
def open_shell(shell: str, home: Path, script: str) -> Iterator[Screen]:
    """Start a shell whose home has the completion script, and wait for its prompt."""
    command, path, content = SHELLS[shell]
    program = home / "bin" / "spark-operator"
    files = {
        **SETTINGS,
        path: content.format(script=script),
        "bin/spark-operator": f'#!/bin/sh\nexec {sys.executable} -m airflow_provider_spark_operator.cli "$@"\n',
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    program.chmod(0o755)
    variables = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local"),
        "ZDOTDIR": str(home),
    }
    (home / "files").mkdir()
    (home / "files" / "manifest.yaml").write_text("")
    start = f"cd {home}/files && env PATH={home}/bin:$PATH {command}"
    with open_screen(start, variables=variables) as screen:
        screen.wait_for("READY>")
        yield screen


def test_tab_completes_words_of_the_program_and_of_the_cluster(
    shell: str, scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("report-daily")
    assert main(["completion", shell]) == ExitCode.SUCCESS
    with open_shell(shell, tmp_path, capsys.readouterr().out) as screen:
        for typed, completed in (
            ("spark-operator descr", "spark-operator describe"),
            ("spark-operator describe rep", "spark-operator describe report-daily"),
            ("spark-operator list --context te", "spark-operator list --context test"),
            ("spark-operator list --context=te", "spark-operator list --context=test"),
            ("spark-operator cluster sc", "spark-operator cluster scale"),
            ("spark-operator delete sparkapplication/re", "spark-operator delete sparkapplication/report-daily"),
            ("spark-operator validate mani", "spark-operator validate manifest.yaml"),
            ("spark-operator validate --strict ", "spark-operator validate --strict manifest.yaml"),
            ("spark-operator list --kubeconfig=mani", "spark-operator list --kubeconfig=manifest.yaml"),
            ("spark-operator describe report-daily mani", "spark-operator describe report-daily mani"),
        ):
            screen.press("-l", typed)
            screen.wait_for(f"READY> {typed.rstrip()}")
            screen.press("Tab")
            screen.wait_for(f"READY> {completed}( |$)")
            screen.press("C-u")


def test_words_without_a_meaning_are_listed_alone(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == ExitCode.SUCCESS
    with open_shell(shell, tmp_path, capsys.readouterr().out) as screen:
        screen.press("-l", "spark-operator completion ")
        screen.wait_for("READY> spark-operator completion")
        screen.press("Tab", "Tab")
        assert not any("--" in line for line in screen.wait_for(r"(bash|fish|zsh)\s+(bash|fish|zsh)"))
