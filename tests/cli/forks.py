"""Runs verbs in forks of one process that has imported them: a new process would import for half a second each time.

Apart from that, a fork is a process of its own, with its own streams, environment and exit.
"""

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Lock


class Forks:
    """The process whose forks run verbs, one after the other.

    Args:
        variables: Environment variables with which Python starts, in addition to those of this process.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forks-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],  # a test may have changed its own, in which this module is not found
            env={**os.environ, **(variables or {})},
        )
        self._lock = Lock()

    def run(self, *words: str, environment: Mapping[str, str], is_read: bool = True) -> tuple[int, str, str]:
        """Run a verb to its end in the working directory. Return its exit code, stdout and stderr.

        Args:
            words: The arguments after the name of the program.
            environment: All environment variables.
            is_read: Whether the output is read to its end. Otherwise, it is closed after its first byte.
        """
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        with self._lock:
            requests.write(json.dumps([words, str(Path.cwd()), dict(environment), is_read]) + "\n")
            requests.flush()
            code = int(replies.readline())
            out, err = (Path(self._folder.name, name).read_text() for name in ("out", "err"))
        return code, out, err

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()


def _serve(streams: Path) -> None:
    from airflow_provider_spark_operator.cli.program.catalogue import VERBS

    for verb in VERBS:
        importlib.import_module(verb.module)
    gc.freeze()  # otherwise, each fork collects at its exit what is imported
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        words, folder, environment, is_read = json.loads(line)
        out, err = (os.open(streams / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("out", "err"))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            replies.close()  # from Python 3.13, closing its descriptor alone is reported at the exit
            for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out if is_read else writer, 1), (err, 2)):
                os.dup2(source, target)
            os.closerange(3, max(out, err, reader, writer) + 1)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv[1:] = words
            runpy.run_module("airflow_provider_spark_operator.cli", run_name="__main__", alter_sys=True)
        for number in (out, err, writer):
            os.close(number)
        os.read(reader, 1)
        os.close(reader)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
