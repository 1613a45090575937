"""Find the cause of a failed driver in its log: the one line among hundreds that explains the failure."""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from .driver_log import clean_line, strip_controls
from .executor_refusals import ExecutorRefusals

# A line may have 64 KiB. Messages show less.
_LOOKED_AT: Final = 1000
_LONGEST: Final = 500
_EXECUTORS: Final = 100

_ABORT: Final = "Job aborted due to stage failure: "
_TRACEBACK: Final = "Traceback (most recent call last):"
_DIRECT_CAUSE: Final = "The above exception was the direct cause"
_CHAIN: Final = re.compile(rf"{_DIRECT_CAUSE}|During handling of the above exception")
_LOST: Final = re.compile(r"The executor with id (\d+) exited with exit code (-?\d+)")
_CLASS: Final = r"[a-zA-Z_$][\w$]*(?:\.[\w$]+)+"
# An exception without a message, or with a message that begins on the next line.
_BARE: Final = re.compile(rf"{_CLASS}:?")
# The way in which Py4J passes a Java exception to Python.
_BRIDGED: Final = re.compile(rf": ({_CLASS}(?:: .*)?)$")
_IN_THREAD: Final = re.compile(r'Exception in thread "([^"]*)" ([a-zA-Z_$][\w$.]*(?:: .*)?)$')
_CAUSED: Final = re.compile(rf"Caused by: ({_CLASS}(?:: .*)?)$")
# An error that was logged with a stack trace. It need not have ended the program.
_LOGGED: Final = re.compile(rf"({_CLASS}(?:Exception|Error)(?:: .*)?)$")
_USER_CLASS: Final = re.compile(rf"\S+ \S+ ERROR .*User class threw exception:? *({_CLASS}(?:: .*)?)?$")
# Python prints a syntax error of the main script without a traceback. The JVM may exit without an exception.
_SYNTAX: Final = re.compile(r"(?:SyntaxError|IndentationError|TabError): ")
_ENDED: Final = re.compile(rf"{_SYNTAX.pattern}|Terminating due to java\.lang\.OutOfMemoryError")
# Errors of spark-submit, Python, `argparse` and the JVM before the program starts.
_REFUSED: Final = re.compile(
    r"(?:\S*/)?python[\d.]*: (?:can't open file|No module named|Error while finding)"
    r"|\S+\.py: error: "
    r"|Error: (?:Failed to load class|Missing application resource|Could not find or load main class"
    r"|Main method not found|A JNI error has occurred|Could not create the Java Virtual Machine"
    r"|Unable to access jarfile|Invalid or corrupt jarfile|Cannot load main class|No main class set"
    r"|Unrecognized option)"
)
# The JVM states why it cannot start before or after a general sentence. It ends at once.
_JVM_REFUSED: Final = re.compile(
    r"Error opening zip file or JAR manifest missing|Invalid (?:maximum|initial) heap size|Unrecognized VM option"
    r"|The Java thread stack size specified is too small"
)
_JVM_FAILED: Final = "Error occurred during initialization of VM"
_STATED: Final = re.compile(r"(?:Error|Exception): \S")
_MISSING_JAR: Final = re.compile(r"Local jar (\S+) does not exist, skipping")
# A line of Python's logging: the error of a traceback below it was handled.
_PYTHON_LOG: Final = re.compile(
    r"(?:\d{4}-\d\d-\d\d \S+ - .+? - |\[\d{4}-\d\d-\d\d [^\]]+\] )?(WARNING|ERROR|CRITICAL)(?: - |:| in )"
)
_LOG_LINE: Final = re.compile(r"\d\d/\d\d/\d\d |\[?\d{4}-\d\d-\d\d[T ]\d|\{|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):")
_WARNING: Final = re.compile(r"\S+ (?:\S+ )?WARN\b")
_ERROR: Final = re.compile(r"\S+ (?:\S+ )?(?:ERROR|FATAL)\b")
# Lines that precede an error that did not end the program: in another thread, or during the shutdown.
_ASIDE: Final = re.compile(
    r'Exception ignored |Exception in thread (?!"main")|Error in atexit|--- Logging error ---'
    r"|ERROR:(?:root:Exception while sending command|py4j\.)|.*exception in thread shutdown-hook"
)
_MISSING_MODULE: Final = re.compile(r"\bModuleNotFoundError: No module named '([\w.]{1,100})'")
_REPORT_MODULE: Final = "spark_task"
_BRIDGE: Final = re.compile(r"py4j\.protocol\.Py4JJavaError\b")
_DISCONNECTED: Final = re.compile(r"py4j\.protocol\.Py4JNetworkError\b")
_WORKER: Final = "PythonException"
_EXIT_OF_PYTHON: Final = "org.apache.spark.SparkUserAppException"
# The traceback of a group, whose exceptions follow it, is indented with a margin.
_GROUP: Final = f"  + Exception Group {_TRACEBACK}"
_MARGIN: Final = re.compile(r" +(?:\| ?|\+[-+].*)")
_GROUP_ERROR: Final = re.compile(r"\(\d+ sub-exceptions?\)$")
# A traceback that ends the program begins in its main module.
_HANDLED_FRAME: Final = re.compile(r'  File "[^"]*", line \d+, in (?!<module>|_run_module_as_main)')
_FRAME: Final = re.compile(r'  File "([^"]+)", line (\d+)')
# Files that do not belong to the program.
_LIBRARY: Final = re.compile(r"<|.*(?:/(?:site|dist)-packages/|/lib/python\d|\.zip/)")
_LONGEST_PLACE: Final = 100
# Lines that continue a message of Spark, or are also printed during the shutdown.
_NO_OUTPUT: Final = re.compile(
    r"The executor with id |The API gave |Driver stacktrace:|JVM stacktrace:|Caused by: |\S+:\d+: \w*Warning: "
)


def explain_cause(cause: str) -> str:
    """Return a cause with a clause that says what to do, unless its own words are enough."""
    missing = _MISSING_MODULE.search(cause)
    if missing is None:
        return cause
    package = missing[1].partition(".")[0]
    if package == _REPORT_MODULE:  # a package of this name on an index belongs to a stranger
        return f"{cause}; copy {package}.py next to the script, see docs/guides/report-results.md"
    return (
        f"{cause}; install {package} with pip on the local cluster, or add it to the image, to spark.archives or to "
        "py_files on another one, see docs/guides/python-dependencies.md"
    )


class _Weight(IntEnum):
    """How strongly a line suggests that its error ended the program."""

    STATED = 0  # printed by the program
    ASIDE = 1  # raised in another thread, or during the shutdown
    HANDLED = 2  # logged as a warning, or printed by the program that caught it
    LOGGED = 3  # logged as an error
    RAISED = 4  # not caught


@dataclass
class _Found:
    text: str
    weight: _Weight
    cause: str | None = None  # the innermost cause
    of_python: bool = False
    of_warning: bool = False
    place: str = ""  # the line of the program, such as load.py:3

    def add_cause(self, cause: str) -> None:
        """Add the next inner exception. The outermost sentence is kept together with the innermost exception."""
        if _BARE.fullmatch(self.text):
            self.text = cause
        else:
            self.cause = cause

    @property
    def sentence(self) -> str:
        if self.cause is None or self.cause in self.text:
            return self.text
        cause = f"; caused by: {clean_line(self.cause, longest=_LONGEST // 2)}"
        return clean_line(self.text.rstrip(".: "), longest=_LONGEST - len(cause)) + cause


class RootCause:
    """Finds the cause in a log that is read line by line. Memory use does not grow with the log.

    Of several uncaught errors the last one counts. Handled errors, and those of other threads and of the shutdown,
    count only without another error. The program must not have printed anything after them either. The stack trace of
    a warning counts only at the end of the log.
    """

    def __init__(self) -> None:
        self._found: dict[_Weight, _Found] = {}
        self._latest: _Found | None = None
        self._open = False  # whether the next lines may belong to the latest stack trace
        self._awaiting: _Found | None = None  # the error whose message continues on the next line
        self._trace: bool | None = None  # None outside of a traceback; whether the traceback is part of another message
        self._in_group = False  # whether the latest traceback is of a group of exceptions
        self._first_frame = False  # whether the next line is the first frame of a traceback
        self._announced: _Weight | None = None  # weight of the next traceback
        self._before: _Weight | None = None  # weight of the previous traceback
        self._traced = _Weight.RAISED  # weight of the current traceback
        self._logged = _Weight.LOGGED  # weight of a stack trace that follows
        self._warned = False  # whether the latest line of Spark's log is a warning
        self._chained: str | None = None  # the exception before the current traceback
        self._is_direct = False  # whether that exception is the cause of the current one
        self._jvm_failed = False  # whether the next line says why the JVM could not start
        self._place = ""  # the latest line of the program in a traceback
        self._jar: str | None = None
        self._lost: dict[str, str] = {}
        self._refusals = ExecutorRefusals()

    def add(self, line: str) -> None:
        """Add the next line."""
        line = strip_controls(line[:_LOOKED_AT]).rstrip()
        if (frame := _FRAME.match(line)) and not _LIBRARY.match(frame[1]):
            self._place = clean_line(f"{frame[1].rpartition('/')[2]}:{frame[2]}", longest=_LONGEST_PLACE)
        if not self._refusals.ended_driver:
            self._refusals.add(line)
        if line.startswith(_GROUP):
            self._begin_traceback()
            self._in_group = True
        elif self._in_group and (margin := _MARGIN.match(line)):
            self._add_group_line(line[margin.end() :])
        elif self._trace is not None:
            self._add_traceback_line(line)
        elif line and line[0] not in " \t":
            self._add_line(line)

    @property
    def refusal(self) -> str | None:
        """The sentence about the executors that the API rejects; None if it rejected none, or if one has started since.

        The rejection is the cause of the failure only if `sentence` is the same.
        """
        return clean_line(self._refusals.latest, longest=_LONGEST) if self._refusals.latest else None

    @property
    def sentence(self) -> str | None:
        """The cause on one line of at most 500 characters; None if the log contains no cause."""
        # Executors that crashed count as failures too.
        if self._refusals.ended_driver and not self._lost:
            return self.refusal
        if not self._found:
            return None
        cause = self._found[max(self._found)].sentence
        codes = sorted(set(self._lost.values()), key=int)
        if codes and not any(f"exit code {code}" in cause for code in codes):
            cause += f"; {len(self._lost)} executors were lost (exit codes: {', '.join(codes)})"
        if self._jar and self._jar not in cause:
            cause += f"; the jar {self._jar} does not exist"
        return clean_line(cause.rstrip(".; "), longest=_LONGEST)

    @property
    def located_sentence(self) -> str | None:
        """The cause with the line of the Python program: `ValueError: 7 (load.py:3)`. None if there is no cause."""
        sentence = self.sentence
        place = self._found[max(self._found)].place if self._found and sentence != self.refusal else ""
        if sentence is None or not place:
            return sentence
        return f"{clean_line(sentence, longest=_LONGEST - len(place) - 3)} ({place})"

    def _add_line(self, line: str) -> None:
        if self._awaiting is not None and not _LOG_LINE.match(line):
            if not line.startswith(_TRACEBACK):
                self._awaiting.text += f" {line}"
            self._awaiting = None
        lost = _LOST.search(line)
        if lost and len(self._lost) < _EXECUTORS:
            self._lost[lost[1]] = lost[2]
        if line.startswith(_TRACEBACK):
            self._begin_traceback()
            return
        if _CHAIN.match(line):
            self._announced = self._before
            self._chained = self._latest.sentence if self._latest else None
            self._is_direct = line.startswith(_DIRECT_CAUSE)
            return
        self._announce(line)
        if _LOG_LINE.match(line):
            self._add_log_line(line)
        elif not self._add_java_line(line) and not self._add_statement(line):
            self._add_output(line)
        if _TRACEBACK in line:
            self._trace = True

    def _record(self, text: str, weight: _Weight, *, of_python: bool = False) -> None:
        before, abort, reason = text.partition(_ABORT)
        self._latest = _Found(abort + reason if abort else before, weight, of_python=of_python)
        self._found[weight] = self._latest
        self._open = True
        self._awaiting = self._latest if abort and reason.endswith("Reason:") else None

    def _announce(self, line: str) -> None:
        """Record the weight of an error that follows this line."""
        self._announced = None
        if _ASIDE.match(line):
            self._announced = _Weight.ASIDE
        elif found := _PYTHON_LOG.match(line):
            self._announced = _Weight.HANDLED if found[1] == "WARNING" else _Weight.LOGGED

    def _add_log_line(self, line: str) -> None:
        self._open = False
        handled = self._found.get(_Weight.HANDLED)
        if handled is not None and handled.of_warning:  # the program continued after the warning
            del self._found[_Weight.HANDLED]
        self._warned = _WARNING.match(line) is not None
        self._logged = self._announced or (_Weight.HANDLED if self._warned else _Weight.LOGGED)
        if threw := _USER_CLASS.match(line):
            self._logged = _Weight.RAISED
            if threw[1]:
                self._record(threw[1], _Weight.RAISED)
        elif jar := _MISSING_JAR.search(line):
            self._jar = jar[1]
        elif _ABORT in line:
            self._record(line, _Weight.LOGGED if _ERROR.match(line) else _Weight.HANDLED)

    def _begin_traceback(self) -> None:
        of_worker = self._open and self._latest is not None and _WORKER in self._latest.text
        self._trace, self._first_frame, self._in_group = of_worker, True, False
        self._place = ""
        self._traced = _Weight.RAISED if self._announced is None else self._announced

    def _add_traceback_line(self, line: str) -> None:
        if self._first_frame and _HANDLED_FRAME.match(line):
            self._traced = min(self._traced, _Weight.HANDLED)
        if not line or line[0] in " \t":
            self._first_frame = False
            return
        # The JVM writes log lines to the same stream at any time.
        if _LOG_LINE.match(line):
            return
        nested, self._trace = self._trace, None
        if nested:
            self._end_nested(line)
            return
        self._before, self._announced = self._announced, None
        if not _BRIDGE.match(line):
            self._end_traceback(line)
        self._chained = None

    def _add_group_line(self, line: str) -> None:
        if self._trace is not None:
            self._add_traceback_line(line)
        elif line and line[0] not in " \t" and _TRACEBACK not in line and self._latest is not None:
            cause = self._latest.cause
            self._latest.cause = line if cause is None or _GROUP_ERROR.search(cause) else cause

    def _end_traceback(self, line: str) -> None:
        # A process pool raises an exception of its child process again, from the child's traceback.
        is_explained = self._chained in (None, line) or (not self._is_direct and ": " in line)
        text = line if is_explained else f"{line} (caused by {self._chained})"
        weight = min(self._traced, _Weight.ASIDE) if _DISCONNECTED.match(line) else self._traced
        self._traced = _Weight.RAISED
        self._record(text, weight, of_python=True)
        self._found[weight].place = self._place
        if line.endswith(":") and _BARE.fullmatch(line):
            self._awaiting = self._latest

    def _end_nested(self, line: str) -> None:
        if self._latest is None or not self._open:
            return
        self._latest.place = self._place or self._latest.place
        if _TRACEBACK in self._latest.text:
            self._latest.text = self._latest.text.replace(_TRACEBACK, line)
        elif line not in self._latest.text:
            self._latest.add_cause(line)

    def _add_java_line(self, line: str) -> bool:
        """Add a line of a Java stack trace. Return whether it was one."""
        if caused := _CAUSED.match(line):
            if self._latest is not None and self._open and _TRACEBACK not in line:
                self._latest.add_cause(caused[1])
        elif thread := _IN_THREAD.match(line):
            if not thread[2].startswith(_EXIT_OF_PYTHON):
                self._record(thread[2], _Weight.RAISED if thread[1] == "main" else _Weight.ASIDE)
        elif bridged := _BRIDGED.match(line):
            self._record(bridged[1], self._traced)
            self._found[self._traced].place = self._place
            self._traced = _Weight.RAISED
        elif logged := _LOGGED.match(line):
            # The message of an uncaught exception may quote other exceptions.
            if not (self._open and self._latest is self._found.get(_Weight.RAISED)):
                self._record(logged[1], self._logged)
                self._found[self._logged].of_warning = self._warned
        else:
            return False
        return True

    def _add_statement(self, line: str) -> bool:
        """Add an error that was printed without an exception. Return whether it was one."""
        if _ENDED.match(line) or _JVM_REFUSED.match(line):
            self._record(line, _Weight.RAISED)
            self._found[_Weight.RAISED].place = self._place if _SYNTAX.match(line) else ""
        elif line == _JVM_FAILED:
            self._jvm_failed = True
        elif self._jvm_failed:
            self._jvm_failed = False
            if _Weight.RAISED not in self._found:
                self._record(line, _Weight.RAISED)
        elif _REFUSED.match(line):
            self._record(line.removeprefix("Error: "), _Weight.LOGGED)
        elif _STATED.match(line):
            self._record(line.removeprefix("Error: "), _Weight.STATED)
        elif _ABORT in line:
            self._record(line, _Weight.HANDLED)
        else:
            return False
        return True

    def _add_output(self, line: str) -> None:
        """Add other output: the program continued, so it handled the errors before."""
        if self._announced is not None or _NO_OUTPUT.match(line):
            return
        for weight in [weight for weight in self._found if weight < _Weight.LOGGED]:
            del self._found[weight]
        self._logged = _Weight.LOGGED
        raised = self._found.get(_Weight.RAISED)
        # A line directly below the exception may be part of its message.
        if raised is not None and raised.of_python and not (self._open and self._latest is raised):
            raised.weight = _Weight.LOGGED
            self._found[_Weight.LOGGED] = self._found.pop(_Weight.RAISED)
