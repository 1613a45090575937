"""The cause of a failure in the driver log. The sample logs are shortened logs of Spark 4."""

import pytest

from airflow_provider_spark_operator.core.log.root_cause import RootCause

LOST_EXECUTORS = """
26/01/01 00:00:01 ERROR TaskSchedulerImpl: Lost executor 1 on 10.0.0.7:
The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).

The API gave the following brief reason: N/A
26/01/01 00:00:01 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.7 executor 1): ExecutorLostFailure \
(executor 1 exited caused by one of the running tasks) Reason:
The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).
26/01/01 00:00:09 ERROR TaskSchedulerImpl: Lost executor 2 on 10.0.0.8:
The executor with id 2 exited with exit code 137(SIGKILL, possible container OOM).
26/01/01 00:00:09 ERROR TaskSetManager: Task 0 in stage 0.0 failed 4 times; aborting job
Traceback (most recent call last):
  File "/opt/job.py", line 15, in <module>
    print(spark.sparkContext.parallelize(range(4), 2).map(die).collect())
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
py4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.8 executor 4): ExecutorLostFailure (executor 4 exited caused by \
one of the running tasks) Reason:
The executor with id 4 exited with exit code 137(SIGKILL, possible container OOM).

The API gave the following brief reason: N/A
Driver stacktrace:
	at org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2898)
	at java.base/java.lang.Thread.run(Thread.java:840)
26/01/01 00:00:10 INFO SparkContext: Invoking stop() from shutdown hook
"""
WORKER_ERROR = """
26/01/01 00:00:09 ERROR TaskSetManager: Task 0 in stage 0.0 failed 4 times; aborting job
Traceback (most recent call last):
  File "/opt/job.py", line 4, in <module>
py4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.8 executor 1): org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 3322, in main
    process()
ZeroDivisionError: integer division or modulo by zero

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
Driver stacktrace:
	at org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2898)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/job.py", line 4, in <lambda>
ZeroDivisionError: integer division or modulo by zero

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
	... 1 more
"""
SCALA = """
Exception in thread "main" org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 \
failed 4 times, most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 2): \
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to s3a://bucket/out.
	at org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:776)
Caused by: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to s3a://bucket/out.
	... 3 more
Caused by: java.nio.file.AccessDeniedException: s3a://bucket/out: Access Denied
	... 9 more
"""
MISSING_JAR = """
26/01/01 00:00:01 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform
Exception in thread "main" java.nio.file.NoSuchFileException: /opt/job/report.jar
	at java.base/sun.nio.fs.UnixException.translateToIOException(UnixException.java:92)
	at org.apache.spark.deploy.SparkSubmit$.main(SparkSubmit.scala)
26/01/01 00:00:02 INFO ShutdownHookManager: Shutdown hook called
"""
SKIPPED_JAR = """
26/01/01 00:00:01 WARN DependencyUtils: Local jar /opt/job/report.jar does not exist, skipping.
Error: Failed to load class org.example.Report.
26/01/01 00:00:02 INFO ShutdownHookManager: Shutdown hook called
"""
MISSING_AGENT = """
Error opening zip file or JAR manifest missing : /prometheus/jmx.jar
Error occurred during initialization of VM
agent library failed to init: instrument
"""
TOO_MUCH_HEAP = """
Error occurred during initialization of VM
Could not reserve enough space for 104857600000KB object heap
"""
INVALID_HEAP = """
Invalid maximum heap size: -Xmx2gigs
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
"""
RETHROWN = """
Traceback (most recent call last):
  File "/opt/job.py", line 6, in <module>
    load("2026-01-01")
ValueError: no partition for 2026-01-01

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/job.py", line 8, in <module>
RuntimeError: the report cannot be made
"""
FROM_CHILD = """
concurrent.futures.process._RemoteTraceback:
\"\"\"
Traceback (most recent call last):
  File "/usr/lib/python3.11/concurrent/futures/process.py", line 261, in _process_worker
    r = call_item.fn(*call_item.args, **call_item.kwargs)
ValueError: no partition for 2026-01-01
\"\"\"

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/job.py", line 6, in <module>
    list(pool.map(load, days))
ValueError: no partition for 2026-01-01
"""
GROUP = """
  + Exception Group Traceback (most recent call last):
  |   File "/job.py", line 9, in <module>
  |     asyncio.run(main())
26/01/01 00:00:00 INFO ShutdownHookManager: Deleting directory /tmp/spark
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/job.py", line 3, in write
    |     raise ExceptionGroup("write", [OSError("disk is full")])
    | ExceptionGroup: write (1 sub-exception)
    +-+---------------- 1 ----------------
      | OSError: disk is full
      +------------------------------------
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/job.py", line 5, in read
    | KeyError: 'day'
    +------------------------------------

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/job.py", line 11, in <module>
RuntimeError: no report
"""
REPLACED = """
Traceback (most recent call last):
  File "/opt/job.py", line 6, in <module>
KeyError: 'day'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/job.py", line 8, in <module>
ValueError: no day is given
"""
CAUGHT_ABORT = """
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times
Driver stacktrace:
	at org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2898)
trying again with fewer rows
Traceback (most recent call last):
  File "/opt/job.py", line 9, in <module>
ValueError: still too many rows
"""
CONTEXT = """
26/01/01 00:00:01 ERROR SparkContext: Error initializing SparkContext.
org.apache.spark.SparkException: External scheduler cannot be instantiated
	at org.apache.spark.SparkContext$.org$apache$spark$SparkContext$$createTaskScheduler(SparkContext.scala:3204)
Caused by: io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: pods/pi-driver. \
Message: pods "pi-driver" is forbidden.
	... 12 more
"""
SQL = """
Traceback (most recent call last):
  File "/opt/job.py", line 3, in <module>
pyspark.errors.exceptions.captured.AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/no/such/file. \
SQLSTATE: 42K03
26/01/01 00:00:02 ERROR Utils: Uncaught exception in thread shutdown-hook-0
java.lang.NullPointerException: null
Caused by: java.io.IOException: closed
"""
SQL_ABORT = """
Traceback (most recent call last):
  File "/opt/job.py", line 3, in <module>
pyspark.errors.exceptions.captured.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times
"""
WORKER_CAUSE = """
26/01/01 00:00:01 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.8 executor 1): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/job.py", line 4, in <lambda>
OSError: first of four
Exception in thread "main" org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows.
	at org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:776)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/job.py", line 4, in <lambda>
OSError: disk is full
"""
BLOCKED = """
26/01/01 00:00:01 WARN BlockedThreadChecker: Thread vert.x-eventloop-thread-0 has been blocked for 2500 ms
io.vertx.core.VertxException: Thread blocked
	at java.base/java.util.Arrays.copyOf(Arrays.java:3537)
"""
HEAP = """
Exception in thread "main" java.lang.OutOfMemoryError: Java heap space
	at java.base/java.util.Arrays.copyOf(Arrays.java:3537)
"""
TRACE = """
Traceback (most recent call last):
  File "/opt/job.py", line 3, in <module>
    main()
ValueError: real
"""
NOISE = """
Traceback (most recent call last):
  File "/opt/spark/python/lib/py4j-src.zip/py4j/java_gateway.py", line 9, in send_command
OSError: noise
"""
HANDLED = """
Traceback (most recent call last):
  File "/opt/job.py", line 7, in load
ConnectionError: handled
"""
JAVA_NOISE = "java.util.concurrent.RejectedExecutionException: noise\n\tat org.example.Pool.run(Pool.java:3)\n"
INFO = "26/01/01 00:00:02 INFO SparkContext: Invoking stop() from shutdown hook\n"
WARNING = "/opt/spark/python/lib/pyspark.zip/pyspark/pandas/__init__.py:50: UserWarning: unset\n  warnings.warn(\n"
EXECUTORS_ONLY = """
The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).
The executor with id 2 exited with exit code 1(unexpected).
The executor with id 2 exited with exit code 1(unexpected).
Traceback (most recent call last):
  File "/opt/job.py", line 3, in <module>
TimeoutError: no result
"""


def find_cause(log: str) -> str | None:
    found = RootCause()
    for line in log.splitlines():
        found.add(line)
    return found.sentence


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(
            LOST_EXECUTORS,
            "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 0.0 (TID 3) (10.0.0.8 executor 4): ExecutorLostFailure (executor 4 exited caused by one of the "
            "running tasks) Reason: The executor with id 4 exited with exit code 137(SIGKILL, possible container OOM)",
            id="lost executors",
        ),
        pytest.param(
            WORKER_ERROR,
            "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 0.0 (TID 3) (10.0.0.8 executor 1): org.apache.spark.api.python.PythonException: "
            "ZeroDivisionError: integer division or modulo by zero",
            id="error in a Python worker",
        ),
        pytest.param(
            SCALA,
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 1.0 (TID 7) (10.0.0.7 executor 2): org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task "
            "failed while writing rows to s3a://bucket/out; caused by: java.nio.file.AccessDeniedException: "
            "s3a://bucket/out: Access Denied",
            id="abort with a cause",
        ),
        pytest.param(MISSING_JAR, "java.nio.file.NoSuchFileException: /opt/job/report.jar", id="missing jar"),
        pytest.param(
            SKIPPED_JAR,
            "Failed to load class org.example.Report.; the jar /opt/job/report.jar does not exist",
            id="skipped jar",
        ),
        pytest.param(
            MISSING_AGENT,
            "Error opening zip file or JAR manifest missing : /prometheus/jmx.jar",
            id="missing Java agent",
        ),
        pytest.param(
            TOO_MUCH_HEAP, "Could not reserve enough space for 104857600000KB object heap", id="more heap than memory"
        ),
        pytest.param(INVALID_HEAP, "Invalid maximum heap size: -Xmx2gigs", id="invalid heap size"),
        pytest.param(
            RETHROWN,
            "RuntimeError: the report cannot be made (caused by ValueError: no partition for 2026-01-01)",
            id="raised from another",
        ),
        pytest.param(FROM_CHILD, "ValueError: no partition for 2026-01-01", id="raised again from a child process"),
        pytest.param(REPLACED, "ValueError: no day is given", id="raised while another was handled"),
        pytest.param(
            REPLACED.replace(": no day is given", ""),
            "ValueError (caused by KeyError: 'day')",
            id="raised without a message while another was handled",
        ),
        pytest.param(CAUGHT_ABORT, "ValueError: still too many rows", id="error after an abort that was caught"),
        pytest.param(
            CONTEXT,
            "org.apache.spark.SparkException: External scheduler cannot be instantiated; caused by: "
            "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: pods/pi-driver. "
            'Message: pods "pi-driver" is forbidden',
            id="logged exception",
        ),
        pytest.param(
            SQL,
            "pyspark.errors.exceptions.captured.AnalysisException: [PATH_NOT_FOUND] Path does not exist: "
            "file:/no/such/file. SQLSTATE: 42K03",
            id="error before a failing shutdown",
        ),
        pytest.param(
            SQL_ABORT,
            "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times",
            id="abort in Python's message",
        ),
        pytest.param(
            WORKER_CAUSE,
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows; caused by: "
            "OSError: disk is full",
            id="cause in a Python worker",
        ),
        pytest.param(
            'Exception in thread "main" java.lang.reflect.InvocationTargetException\n\tat a.B.c(B.java:1)\n'
            "Caused by: java.io.IOException: closed",
            "java.io.IOException: closed",
            id="outer exception without a message",
        ),
        pytest.param(
            'Exception in thread "main" java.lang.reflect.InvocationTargetException\n\tat a.B.c(B.java:1)\n'
            "Caused by: java.lang.IllegalStateException: the table is locked\n\tat a.B.d(B.java:2)\n"
            "Caused by: java.lang.NullPointerException\n\tat a.B.e(B.java:3)",
            "java.lang.IllegalStateException: the table is locked; caused by: java.lang.NullPointerException",
            id="sentence between exceptions without a message",
        ),
        pytest.param(
            GROUP,
            "RuntimeError: no report (caused by ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions); "
            "caused by: OSError: disk is full)",
            id="group of exceptions",
        ),
        pytest.param(
            'Exception in thread "main" java.lang.RuntimeException: ' + "x" * 900 + "\n\tat a.B.c(B.java:1)\n"
            "Caused by: java.io.IOException: closed",
            f"java.lang.RuntimeException: {'x' * 431}…; caused by: java.io.IOException: closed",
            id="long message keeps its cause",
        ),
        pytest.param(HEAP, "java.lang.OutOfMemoryError: Java heap space", id="driver's heap"),
        pytest.param(
            EXECUTORS_ONLY,
            "TimeoutError: no result; 2 executors were lost (exit codes: 1, 137)",
            id="executors lost before another error",
        ),
        pytest.param(
            "python3: can't open file '/opt/job.py': [Errno 2] No such file or directory",
            "python3: can't open file '/opt/job.py': [Errno 2] No such file or directory",
            id="missing script",
        ),
        pytest.param("Pi is roughly 3.14\n  indented\nGoodbye: ", None, id="no error"),
        pytest.param("", None, id="empty"),
    ],
)
def test_cause_of_a_log(log: str, expected: str | None) -> None:
    assert find_cause(log) == expected


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param("Exception ignored in: <function JavaWrapper.__del__ at 0x7f>" + NOISE, id="ignored"),
        pytest.param("Exception in thread Thread-3 (poll):" + NOISE, id="thread of Python"),
        pytest.param("ERROR:root:Exception while sending command." + NOISE, id="command of Py4J"),
        pytest.param("ERROR:py4j.java_gateway:An error occurred while connecting" + NOISE, id="gateway of Py4J"),
        pytest.param(NOISE.replace("OSError", "py4j.protocol.Py4JNetworkError"), id="lost connection of Py4J"),
        pytest.param('Exception in thread "OkHttp Dispatcher" ' + JAVA_NOISE, id="thread of OkHttp"),
        pytest.param('Exception in thread "shutdown-hook-0" ' + JAVA_NOISE, id="shutdown hook"),
        pytest.param(
            "26/01/01 00:00:03 ERROR Utils: Uncaught exception in thread shutdown-hook-0\n" + JAVA_NOISE,
            id="logged shutdown hook",
        ),
        pytest.param(
            "ERROR:root:Exception while sending command."
            + NOISE
            + "\nDuring handling of the above exception, another exception occurred:\n"
            + NOISE,
            id="chained command of Py4J",
        ),
        pytest.param(
            'Exception in thread "main" org.apache.spark.SparkUserAppException: User application exited with 1',
            id="exit code of Python",
        ),
        pytest.param("Error: closed twice", id="printed error"),
        pytest.param(WARNING, id="warning of Python"),
        pytest.param(INFO + JAVA_NOISE, id="logged after the end"),
    ],
)
@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (TRACE, "ValueError: real"),
        (
            SCALA,
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 1.0 (TID 7) (10.0.0.7 executor 2): org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task "
            "failed while writing rows to s3a://bucket/out; caused by: java.nio.file.AccessDeniedException: "
            "s3a://bucket/out: Access Denied",
        ),
    ],
    ids=["traceback", "abort"],
)
def test_shutdown_messages_do_not_replace_cause(log: str, expected: str, noise: str) -> None:
    assert find_cause(log + INFO + noise) == expected
    assert find_cause(log + noise) == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(WARNING, None, id="warning of Python"),
        pytest.param("/usr/lib/python3: DeprecationWarning", None, id="path of Python"),
        pytest.param("my_python_job: starting", None, id="name with python"),
        pytest.param("Error: 0 of 100 rows bad\nworking", None, id="program goes on after a printed error"),
        pytest.param("Exception: locked", "Exception: locked", id="printed error is the last"),
        pytest.param(
            "Error: 0 rows bad\n26/01/01 00:00:02 ERROR Main: failed\n" + JAVA_NOISE,
            "java.util.concurrent.RejectedExecutionException: noise",
            id="printed and logged error",
        ),
        pytest.param("Exception ignored in: <x>" + NOISE, "OSError: noise", id="shutdown messages only"),
        pytest.param("ERROR:root:Exception while sending command." + NOISE + "all rows bad", None, id="noise, output"),
        pytest.param(
            TRACE.replace("    main()", INFO.rstrip()), "ValueError: real", id="line of the JVM within a traceback"
        ),
        pytest.param(HANDLED, "ConnectionError: handled", id="printed traceback is the last"),
        pytest.param(HANDLED + "no rows: exit", None, id="printed traceback, output"),
        pytest.param("WARNING:root:retrying" + TRACE + "no rows", None, id="traceback below a warning, output"),
        pytest.param("ERROR:root:failed" + TRACE + "giving up", "ValueError: real", id="traceback below an error"),
        pytest.param(
            "2026-01-01 00:00:00,123 - root - WARNING - retrying" + TRACE + "no rows", None, id="formatted warning"
        ),
        pytest.param("ERROR:root:failed" + TRACE + TRACE.replace("real", "again"), "ValueError: again", id="raised"),
        pytest.param(TRACE + "its second line\n" + INFO + JAVA_NOISE, "ValueError: real", id="message of two lines"),
        pytest.param(
            TRACE + INFO + "going on\n26/01/01 00:00:03 ERROR Main: failed\n" + JAVA_NOISE.replace("noise", "later"),
            "java.util.concurrent.RejectedExecutionException: later",
            id="traceback, output, logged error",
        ),
        pytest.param(TRACE + INFO + "going on", "ValueError: real", id="traceback, output, nothing else"),
        pytest.param(
            TRACE + "26/01/01 00:00:03 ERROR ApplicationMaster: User class threw exception:\n"
            "org.apache.spark.SparkException: no\n\tat x\nCaused by: java.lang.OutOfMemoryError: heap",
            "org.apache.spark.SparkException: no; caused by: java.lang.OutOfMemoryError: heap",
            id="exception of the user's class",
        ),
        pytest.param(
            TRACE + "26/01/01 00:00:03 ERROR ApplicationMaster: User class threw exception: java.lang.Error: no",
            "java.lang.Error: no",
            id="exception of the user's class on one line",
        ),
        pytest.param(
            "26/01/01 00:00:01 WARN Main: trying again\n" + JAVA_NOISE + INFO + "rule broken",
            None,
            id="exception below a warning, output",
        ),
        pytest.param(BLOCKED, "io.vertx.core.VertxException: Thread blocked", id="exception below a warning is last"),
        pytest.param(BLOCKED + INFO, None, id="exception below a warning, the program continues"),
        pytest.param(
            "26/01/01 00:00:01 INFO DAGScheduler: Job aborted due to stage failure: Task 0 lost",
            "Job aborted due to stage failure: Task 0 lost",
            id="logged abort",
        ),
        pytest.param(
            "26/01/01 00:00:01 ERROR Main: Job aborted due to stage failure: Task 0 lost\nstopped",
            "Job aborted due to stage failure: Task 0 lost",
            id="abort logged as an error",
        ),
        pytest.param(
            "failed: Job aborted due to stage failure: Task 0 lost\nstopped", None, id="printed abort, output"
        ),
        pytest.param(
            TRACE.replace("ValueError: real", "pyspark.errors.exceptions.captured.PythonException:")
            + "  Please see the stack trace below."
            + NOISE,
            "OSError: noise",
            id="traceback of a worker in Python's message",
        ),
        pytest.param(
            'Exception in thread "main" org.apache.spark.SparkException: Traceback (most recent call last):\n'
            "OSError: in a worker",
            "org.apache.spark.SparkException: OSError: in a worker",
            id="traceback in the message",
        ),
        pytest.param(
            '  File "/opt/job.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax',
            "SyntaxError: invalid syntax",
            id="syntax error of the script",
        ),
        pytest.param(
            'Exception in thread "main" org.example.LoadException: failed:\n'
            + JAVA_NOISE
            + "Caused by: java.io.IOException: disk",
            "org.example.LoadException: failed; caused by: java.io.IOException: disk",
            id="exception in the message",
        ),
        pytest.param('Exception in thread "main" MyError: no', "MyError: no", id="exception without a package"),
        pytest.param(
            "usage: job.py [-h] --date DATE\njob.py: error: no date", "job.py: error: no date", id="wrong arguments"
        ),
        pytest.param(TRACE.replace("real", "\x1b[31mre\x07al\u202e\x1b[0m"), "ValueError: real", id="controls"),
    ],
)
def test_weak_evidence_is_used_only_without_stronger_evidence(log: str, expected: str | None) -> None:
    assert find_cause(log) == expected


def test_cause_from_long_line_is_truncated() -> None:
    found = find_cause("Traceback (most recent call last):\n  x\nValueError: " + "y" * 100_000)
    assert found is not None
    assert (len(found), found[-1]) == (500, "…")
