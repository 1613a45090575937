"""The script that runs a function in a driver and returns its result to the task.

The return value comes back as the message that Kubernetes keeps of a terminated container. The message needs neither a
store nor permissions, and holds 4 KiB. A larger value needs a store that the driver can write. If the driver can write
the store, it also stores a copy of a smaller value there.
"""

import json

from ...core.compose.files import TASK_SCRIPT, LocalFile
from ...spark_task import MESSAGE_VARIABLE

ARGUMENTS = "airflow_task_arguments.json"
# Kubernetes reads the message of a container here, unless the pod template sets another path.
MESSAGE_FILE = "/dev/termination-log"
MESSAGE_BYTES = 4096
# Seconds that the driver waits for the copy of a small value. A store that is not reachable may take minutes to fail.
COPY_SECONDS = 30
_MARK = "airflow-result"

_HARNESS = f'''
def _airflow_store(spark, text, url):
    path = spark._jvm.org.apache.hadoop.fs.Path(url)
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    stream = files.create(path, True)
    try:
        stream.write(text.encode())
    finally:
        stream.close()


def _airflow_try_to_store(spark, text, url):
    import sys
    import threading

    def store():
        try:
            _airflow_store(spark, text, url)
        except Exception as error:
            print(f"could not store a copy of the return value at {{url}}: {{error}}", file=sys.stderr)

    thread = threading.Thread(target=store, daemon=True)
    thread.start()
    thread.join({COPY_SECONDS})


def _airflow_main():
    import json
    import os
    import sys

    from pyspark import SparkFiles
    from pyspark.sql import SparkSession

    message_file, result_url = sys.argv[1], sys.argv[2]
    os.environ["{MESSAGE_VARIABLE}"] = message_file  # for the report of the function
    spark = SparkSession.builder.getOrCreate()
    with open(SparkFiles.get("{ARGUMENTS}"), encoding="utf-8") as file:
        given = json.load(file)
    keywords = given["keywords"] | ({{"spark": spark}} if given["wants_spark"] else {{}})
    value = globals()[given["function"]](*given["positional"], **keywords)
    text = json.dumps({{"{_MARK}": {{"value": value}}}})
    small = len(text.encode()) <= {MESSAGE_BYTES}
    if not small:
        if not result_url:
            raise ValueError(
                f"the return value has {{len(text.encode())}} bytes, but only {MESSAGE_BYTES} are possible without "
                "upload_to. Set upload_to, or return less, for example the URL of a stored value"
            )
        _airflow_store(spark, json.dumps(value), result_url)
        text = json.dumps({{"{_MARK}": {{"stored": True}}}})
    if "spark_task" in sys.modules:
        sys.modules["spark_task"].report.save(**json.loads(text))
    else:
        with open(message_file, "w", encoding="utf-8") as file:
            file.write(text)
    if small and result_url:
        _airflow_try_to_store(spark, json.dumps(value), result_url)
    spark.stop()


if __name__ == "__main__":
    _airflow_main()
'''


def render_script(source: str) -> str:
    """Return the program of a driver that runs the function in `source` and reports its return value."""
    return f"{source.rstrip()}\n\n{_HARNESS}"


def render_arguments(function: str, positional: list[object], keywords: dict[str, object], *, wants_spark: bool) -> str:
    """Return the file from which the script reads the function to call and its arguments.

    Raises:
        TypeError: An argument is not a JSON value.
    """
    return json.dumps(
        {"function": function, "positional": positional, "keywords": keywords, "wants_spark": wants_spark}
    )


def build_files(script: str, arguments: str) -> tuple[LocalFile, ...]:
    """Return the files of the program: the script, and what it reads."""
    return (
        LocalFile(TASK_SCRIPT, TASK_SCRIPT, script.encode()),
        LocalFile(ARGUMENTS, ARGUMENTS, arguments.encode(), needed_by_executors=True),
    )


def parse_report(message: str | None) -> dict[str, object] | None:
    """Return the report of the script: its `value`, or that the value is `stored`; None without a report."""
    try:
        report = json.loads(message or "")
    except ValueError:
        return None
    result = report.get(_MARK) if isinstance(report, dict) else None
    return result if isinstance(result, dict) else None
