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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class RunUnread(Protocol):
    def __call__(self, words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> bytes:
        """Run a verb whose standard output is closed after its first byte. Return its standard error."""
        ...


@contextmanager
def serve_forks(variables: Mapping[str, str]) -> Iterator[RunUnread]:
    """Start the process, with environment variables in addition to those of this process."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        requests, replies = server.stdin, server.stdout

        def run(words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> bytes:
            errors = folder / "stderr"
            requests.write(json.dumps([list(words), str(folder), str(errors), dict(variables)]) + "\n")
            requests.flush()
            assert replies.readline() == "ended\n"
            return errors.read_bytes()

        yield run
        requests.close()


def _serve() -> None:
    from airflow_provider_spark_operator.cli.program.catalogue import VERBS

    for verb in VERBS:
        importlib.import_module(verb.module)
    gc.freeze()  # otherwise, each fork collects at its exit what is imported
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    for line in sys.stdin:
        words, folder, errors, variables = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            for number, path, mode in ((0, os.devnull, os.O_RDONLY), (2, errors, os.O_WRONLY | os.O_CREAT)):
                os.dup2(os.open(path, mode), number)
            os.dup2(writer, 1)
            os.close(reader)
            os.close(writer)
            os.chdir(folder)
            os.environ.update(variables)
            sys.argv[1:] = words
            runpy.run_module("airflow_provider_spark_operator.cli", run_name="__main__", alter_sys=True)
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        os.waitpid(child, 0)
        print("ended", file=replies, flush=True)


if __name__ == "__main__":
    _serve()
