"""The command line with an ASCII locale, and with streams that are full or closed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.local.test_local import write
from tests.cli.program.test_main import APPLICATION

SECONDS = 90
COMMAND = (sys.executable, "-m", "airflow_provider_spark_operator.cli")
ASCII = ({"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
LOST = "spark-operator: error: could not write to standard output: "


def run_command(
    folder: Path, *words: str, shell: str = "", variables: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder. `shell` redirects its streams in the syntax of a shell."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *COMMAND, *words],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder), **(variables or {})},
        input=None if "<" in shell else stdin,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a non-ASCII name, and an application with a non-ASCII script in it."""
    folder = tmp_path / "é"
    folder.mkdir()
    write(folder, "echo hällo")
    (folder / "app.yaml").rename(folder / "äpp.yaml")
    (folder / "bäd.yaml").write_text(APPLICATION.replace("{name: pi}", "{name: päi}"))
    return folder


@pytest.mark.parametrize("locale", ASCII, ids=["encoding", "locale"])
def test_ascii_locale_escapes_other_characters(folder: Path, locale: dict[str, str]) -> None:
    found = run_command(folder.parent, "validate", "é/bäd.yaml", variables=locale)
    assert (found.returncode, found.stderr) == (ExitCode.INVALID, b"")
    assert found.stdout.startswith(b"\\xe9/b\\xe4d.yaml:4:12: error: SparkApplication p\\xe4i: metadata.name: 'p")

    found = run_command(folder.parent, "validate", "é/nöt.yaml", "-o", "json", variables=locale)
    assert json.loads(found.stdout)["problems"][0]["file"] == "é/nöt.yaml"

    found = run_command(folder.parent, "render", "é/nöt.yaml", variables=locale)
    assert found.stderr == b"spark-operator: error: \\xe9/n\\xf6t.yaml: cannot be read: no such file or directory\n"


@pytest.mark.parametrize("locale", ASCII, ids=["encoding", "locale"])
def test_ascii_locale_keeps_the_content_of_documents(folder: Path, locale: dict[str, str]) -> None:
    expected = list(yaml.safe_load_all(run_command(folder, "render", "äpp.yaml").stdout))
    assert "hällo" in str(expected)
    content = (folder / "äpp.yaml").read_bytes()
    assert list(yaml.safe_load_all(run_command(folder, "render", "äpp.yaml", variables=locale).stdout)) == expected
    assert (
        list(yaml.safe_load_all(run_command(folder, "render", "-", variables=locale, stdin=content).stdout)) == expected
    )
    found = run_command(folder, "render", "äpp.yaml", "-o", "json", variables=locale)
    assert json.loads(found.stdout)["items"] == expected


@pytest.mark.parametrize("locale", ASCII, ids=["encoding", "locale"])
def test_ascii_locale_runs_a_non_ascii_application(folder: Path, locale: dict[str, str]) -> None:
    found = run_command(folder, "local", "run", "äpp.yaml", variables=locale)
    assert (found.returncode, found.stdout) == (ExitCode.SUCCESS, b"h\\xe4llo\n"), found.stderr


@pytest.mark.parametrize(
    "words",
    [["crds"], ["crds", "-o", "json"], ["render", "äpp.yaml"], ["validate", "äpp.yaml"], ["local", "images"], ["-h"]],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("shell", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")], ids=["full", "closed"]
)
def test_lost_results_are_an_error(folder: Path, words: list[str], shell: str, reason: str) -> None:
    found = run_command(folder, *words, shell=shell)
    assert (found.returncode, found.stderr.decode()) == (ExitCode.INFRASTRUCTURE_FAILED, f"{LOST}{reason}\n")


@pytest.mark.parametrize(
    ("script", "code"), [("true", ExitCode.INFRASTRUCTURE_FAILED), ("exit 3", ExitCode.APPLICATION_FAILED)]
)
def test_lost_driver_log_does_not_end_the_run_or_hide_its_failure_kind(
    tmp_path: Path, script: str, code: ExitCode
) -> None:
    write(tmp_path, f"echo before; {script}")
    found = run_command(tmp_path, "local", "run", "app.yaml", shell=">/dev/full")
    lines = found.stderr.decode().splitlines()
    assert found.returncode == code, lines
    assert lines[-1] == f"{LOST}No space left on device"
    assert any(line.startswith("spark-operator: stopped printing the driver's log: ") for line in lines)
    assert "Traceback" not in found.stderr.decode()


def test_closed_pipe_does_not_end_the_run(tmp_path: Path) -> None:
    write(tmp_path, "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; done; exit 3")
    found = run_command(tmp_path, "local", "run", "app.yaml", shell="| head -n 1; exit 0")
    assert found.stdout == b"1\n"
    assert b"failed in state Failed" in found.stderr
    assert b"Traceback" not in found.stderr
    assert b"could not write" not in found.stderr


def test_cluster_that_cannot_print_its_ready_line_is_taken_down(tmp_path: Path) -> None:
    found = run_command(tmp_path, "local", "up", "--home", "home", shell=">/dev/full")
    assert found.returncode == ExitCode.INFRASTRUCTURE_FAILED
    assert found.stderr.decode().splitlines()[-1] == f"{LOST}No space left on device"
    assert not (tmp_path / "home" / "kubeconfig").exists()


@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full"], ids=["closed", "full"])
def test_closed_standard_error_does_not_change_the_result(tmp_path: Path, shell: str) -> None:
    found = run_command(tmp_path, "crds", "--kind", "x", shell=shell)
    assert (found.returncode, found.stdout, found.stderr) == (ExitCode.INVALID, b"", b"")
    write(tmp_path, "echo hello")
    found = run_command(tmp_path, "local", "run", "app.yaml", shell=shell)
    assert (found.returncode, found.stdout, found.stderr) == (ExitCode.SUCCESS, b"hello\n", b"")


def test_closed_standard_input_is_reported(tmp_path: Path) -> None:
    found = run_command(tmp_path, "validate", "-", shell="<&-")
    assert (found.returncode, found.stderr) == (ExitCode.INVALID, b"")
    assert found.stdout == b"standard input: error: cannot be read: it is closed\n"
