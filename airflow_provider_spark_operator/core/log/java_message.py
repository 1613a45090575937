"""Shorten the messages in which operators report a Java exception."""

import re
from typing import Final

_JAVA_ERROR: Final = re.compile(r'^Exception in thread "[^"\n]*" (.+)$', re.MULTILINE)
_CAUSED: Final = "\nCaused by: "
# fabric8's client prints the whole answer of the API server, whose message it has printed before.
_DUMP: Final = " Received status: Status("


def shorten_java_message(message: str) -> str:
    """Return the error and innermost cause in a message with the output of spark-submit or a Java stack trace.

    Kubeflow's operator reports the output of spark-submit, and the Apache operator a stack trace. Other messages are
    returned as they are.
    """
    error = _JAVA_ERROR.search(message)
    if error is not None:
        beginning = message[: error.start()].partition(": ")[0].strip()
        causes = message[error.end() :].split(_CAUSED)[1:]
        return ": ".join(filter(None, [beginning, *map(_shorten, (error[1], *causes[-1:]))]))
    outer, *causes = message.split(_CAUSED)
    if not (causes or "\n\tat " in outer):
        return message.partition(_DUMP)[0]
    return ": ".join(map(_shorten, (outer, *causes[-1:]))).replace(". StackTrace: ", ": ", 1)


def _shorten(exception: str) -> str:
    return exception.strip().partition("\n\t")[0].partition(_DUMP)[0].strip().rstrip(".")
