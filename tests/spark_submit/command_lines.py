"""Edge cases of command lines, environment variables and files of spark-submit."""

import io
import zipfile
from collections.abc import Iterator, Mapping

from tests.spark_submit.configurations import IMAGE, DrawnSubmission
from tests.spark_submit.files import CONFIGURATION_FILES
from tests.spark_submit.values import K

CLASS = ("--class", "org.example.Main")
IN_IMAGE = "local:///app.jar"
UPLOADS = {f"{K}file.upload.path": "file://@FILES@/uploads"}


def build_submission(
    *flags: str,
    resource: str = IN_IMAGE,
    arguments: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    files: Mapping[str, str | bytes] | None = None,
) -> DrawnSubmission:
    return DrawnSubmission(
        conf={**IMAGE, **UPLOADS},
        flags=flags,
        resource=resource,
        arguments=arguments,
        environment=dict(environment or {}),
        files={**CONFIGURATION_FILES, **(files or {})},
    )


def build_jar(manifest: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", manifest)
    return content.getvalue()


FLAGS = (
    (),
    ("--name=a=b",),
    ("--name=", "x"),
    ("-c", "spark.x=y"),
    ("-c=spark.x=y",),
    ("--conf=spark.x=y",),
    ("--conf", " spark.x = y "),
    ("--conf", "spark.x"),
    ("--verbose=x",),
    ("--supervise",),
    ("--supervise=x",),
    ("--queue", "q"),
    ("--total-executor-cores", "5"),
    ("--total-executor-cores", "0"),
    ("--proxy-user", ""),
    ("--proxy-user", "a b"),
    ("--proxy-user", "u", "--principal", "p"),
    ("--principal", "p", "--keytab", "local:///k"),
    ("--principal", "p", "--keytab", "@FILES@/cert.pem"),
    ("--principal", "p", "--keytab", "/no/such/file"),
    ("--driver-memory", ""),
    ("--driver-cores", ""),
    ("--properties-file", ""),
    ("--remote", "sc://host"),
    ("--packages", ""),
    ("--packages", ","),
    ("--packages", "a:b"),
    ("--packages", "a::c"),
    ("--packages", "a/b/c/d"),
    ("--packages", "a:b:c,d"),
    ("--exclude-packages", "a"),
    ("--repositories", "::"),
    ("--py-files", "@FILES@/job.py"),
)
JARS = (
    "",
    "app.jar",
    "@FILES@/none.jar",
    "@FILES@/*.jar",
    "@FILES@/none*.jar",
    "@FILES@/*.jar,local:///x",
    "@FILES@/[a-p]*.jar",
    "@FILES@/{app,other}.jar",
    "file:@FILES@/*.jar",
    "file://@FILES@/app.jar",
    "https://h/*.jar",
    "local:///opt/*.jar",
    " @FILES@/app.jar , local:///x ",
)
FILES = (
    ",",
    "@FILES@/a b.txt",
    "file:@FILES@/a%20b.txt",
    "@FILES@/a%20b.txt",
    "%zz",
    "@FILES@/conf",
    "@FILES@/con?",
    "@FILES@/conf/*",
    "@FILES@/*.py#x",
    "@FILES@/*.conf#x",
    "@FILES@/job.py#x",
    "@FILES@/job.py,@FILES@/job.py",
    "@FILES@//job.py",
    "local:///a b",
    "https://h/a b",
    "https://h/ü",
    "https://h/x?y=z&a=*",
)
ARCHIVES = (
    "@FILES@/some.zip#here",
    "@FILES@/some.zip#",
    "@FILES@/some.zip#a b",
    "@FILES@/*.zip#here",
    "https://h/*.zip#a",
)
MAIN = (
    "@FILES@/app.jar",
    "@FILES@/app.jar#x",
    "file:@FILES@/app.jar",
    "@FILES@/none.jar",
    "@FILES@/*.jar",
    "https://h/a b.jar",
    "@FILES@/a b.txt",
    "local:/a.jar",
    "local:///x.zip",
    "@FILES@/job.py",
    "@FILES@/none.py",
    "local:///opt/a b.py",
    "https://h/job.PY",
    "local:///a.r",
    "@FILES@/job.R",
)
PROPERTIES = (
    "spark.a=\\u00fc\n",
    "spark.a=\\u00f\n",
    "spark.a=\\uzzzz\n",
    "spark.a=x\\",
    "spark.a=x\\\n",
    "spark.a = x\\n\n",
    "spark.a=\\ x \n",
    "spark.a= \\tx\\t\n",
    "spark.a:b=c\nspark.c d\nspark.e\nspark.f=\n",
    "\\u0073park.a=1\n",
    "spark.a=1\r\nspark.b=2\rspark.c=3",
    "! c\n# c\n  spark.a=1\n",
    "spark.a=x\\\n   # y\n",
    "spark.a=x\u00a0\n\u00a0spark.b=1\n",
    "spark.a=\u3000x\u3000\n",
    "spark.a=🐍\nspark.b=\\ud83d\\udc0d\n",
    "\ufeffspark.a=1\n",
    "spark.driver.memory=2g\nspark.driver.memory=3g\n",
    "spark.a=${spark.b}\nspark.b=1\n",
    "spark.master=local\nspark.submit.deployMode=client\n",
    "spark.a=1\\\n\nspark.b=2",
    "spark.a=\\q\\z\n",
    "spark.a=x\x85\nspark.b=x\u2028y\n",
    "  \n\\\n spark.a=1\n",
)
MANIFESTS = (
    "Manifest-Version: 1.0\r\nMain-Class: org.example.Main\r\n\r\n",
    "Manifest-Version: 1.0\nMain-Class: org.example.A\nMain-Class: org.example.B\n",
    "Manifest-Version: 1.0\nmain-class: org.example.with.a.long\n .Name \n\nName: x\nMain-Class: no\n",
    "Manifest-Version: 1.0\nMain-Class: org.example.Main",
    "Manifest-Version: 1.0\n\nMain-Class: org.example.Main\n",
    "Manifest-Version: 1.0\n",
)
VARIABLES = (
    {"SPARK_USER": ""},
    {"SPARK_LOCAL_DIRS": ""},
    {"SPARK_LOCAL_DIRS": ","},
    {"SPARK_LOCAL_DIRS": "/a,"},
    {"SPARK_DRIVER_MEMORY": ""},
    {"SPARK_EXECUTOR_MEMORY": "x"},
    {"SPARK_EXECUTOR_CORES": ""},
    {"SPARK_TESTING": ""},
    {"MASTER": "local", "DEPLOY_MODE": "client"},
    {"SPARK_REMOTE": "sc://host"},
    {"HADOOP_CONF_DIR": "/no/such"},
    {"HADOOP_CONF_DIR": "@FILES@/cert.pem"},
    {"SPARK_CONF_DIR": "/no/such"},
)
INTERPRETERS = (
    {"PYSPARK_PYTHON": ""},
    {"PYSPARK_DRIVER_PYTHON": ""},
    {"PYSPARK_PYTHON": "/a", "PYSPARK_DRIVER_PYTHON": ""},
)


def list_command_lines() -> Iterator[tuple[str, DrawnSubmission]]:
    """Yield each submission with its name."""
    for flags in FLAGS:
        yield f"flags {flags}", build_submission(*flags, *CLASS)
    for flag, values in (("--jars", JARS), ("--files", FILES), ("--archives", ARCHIVES)):
        for value in values:
            yield f"{flag} {value}", build_submission(flag, value, *CLASS)
    for resource in MAIN:
        yield (
            f"main {resource}",
            build_submission(*CLASS, resource=resource, arguments=("", " ", "--conf", "-v", "ü", "$(X)")),
        )
    for text in PROPERTIES:
        yield f"properties {text}", build_submission("--properties-file", "@FILES@/p", *CLASS, files={"p": text})
    for manifest in MANIFESTS:
        yield (
            f"manifest {manifest}",
            build_submission(resource="@FILES@/main.jar", files={"main.jar": build_jar(manifest)}),
        )
    for environment in VARIABLES:
        yield f"variables {environment}", build_submission(*CLASS, environment=environment)
    for environment in INTERPRETERS:
        yield f"interpreters {environment}", build_submission(environment=environment, resource="local:///job.py")
    yield "no class in a remote jar", build_submission(resource="https://host/app.jar")
    yield "no class at all", build_submission(resource="spark-internal")
