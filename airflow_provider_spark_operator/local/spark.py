"""Build the commands that the entry point of a Spark image would run, for the Spark on this machine.

All pods have the same address, so the driver gets free ports instead of the configured ports. The address, the token
and the certificate of the API are on its command line, which overrides its properties file.
"""

import logging
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from local_kubernetes.kubelet.node.access import ApiAccess
from local_kubernetes.kubelet.node.runtime import StartError

from ..core.kubernetes.names import MASTER_PORT, MASTER_WEB_PORT
from .authentication import AUTHENTICATE_KEY, SharedSecret
from .class_archive import build_recording_options, build_starting_options
from .driver_properties import read_driver_properties, write_properties
from .java import Java
from .programs import MASTER, DaemonProgram
from .software import SparkInstallation

logger = logging.getLogger(__name__)

IMAGE_HOME = "/opt/spark"
WORK_FOLDER = "/opt/spark/work-dir"

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_PROPERTIES_OPTION = "--properties-file"
_ADD_MODULES = "--add-modules="
_JAVA_OPTION = "SPARK_JAVA_OPT_"
_LOOPBACK = "127.0.0.1"
_KUBERNETES_MASTER = "k8s://"
# The defaults of Spark's start-master.sh.
_MASTER_PORTS = {"SPARK_MASTER_PORT": MASTER_PORT, "SPARK_MASTER_WEBUI_PORT": MASTER_WEB_PORT}
# The ports of a driver that clients use: those of its web interface and of a Spark Connect server.
_SERVED_PORTS = {"spark.ui.port": 4040, "spark.connect.grpc.binding.port": 15002}
# The list of Spark's launcher (`JavaModuleOptions`), without the module that few runtimes have.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
# Jobs on a laptop are short. With less compilation, a driver starts in two thirds of the time.
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
# A container must not use the Kubernetes configuration of this machine.
_OWN_ACCESS_ONLY = ("-Dkubernetes.auth.tryKubeConfig=false", "-Dkubernetes.auth.tryServiceAccount=false")


@dataclass(frozen=True)
class ContainerPlace:
    """The folders of one container on this machine.

    Args:
        work: The working directory of the container.
        scratch: The folder for files of the runtime.
        credentials: The folder with the files `token` and `ca.crt`.
        rewrite: Replaces the container's paths and services in a text by the paths and services of this machine.
        secret: The secret of the standalone clusters on this machine.
        owns_directory: Whether the command starts in a folder of its pod, in which Spark can replace files.
        assign_port: Returns the free port that replaces a port of the pod. 0 lets Spark choose one.
    """

    work: Path
    scratch: Path
    credentials: Path
    rewrite: Callable[[str], str]
    secret: SharedSecret
    owns_directory: bool = True
    assign_port: Callable[[int], int] = lambda _: 0


def build_environment(runtime: SparkInstallation, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a container with the variables that a Spark image sets, except JAVA_HOME."""
    result = dict(environment)
    result["SPARK_HOME"] = str(runtime.home)
    result["SPARK_LOCAL_IP"] = _LOOPBACK
    # Python would write `__pycache__` into the folders of the user.
    result.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    result["PYTHONPATH"] = ":".join(filter(None, (environment.get("PYTHONPATH"), str(runtime.home.parent))))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if name == "PYSPARK_PYTHON" or name in environment:
            result[name] = _find_python(environment.get(name), environment)
    return result


def build_command(
    runtime: SparkInstallation,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    place: ContainerPlace,
    api: ApiAccess,
) -> list[str]:
    """Return the command of a driver or an executor.

    Args:
        runtime: The Spark to run.
        arguments: The arguments of the container, with paths of this machine. The first is `driver` or `executor`.
        environment: The environment of the container, with paths of this machine.
        place: The folders of the container.
        api: The address and the credentials of the API server.

    Raises:
        StartError: A setting, or the driver's properties file, could not be read.
        OSError: The copy of the properties file could not be written.
    """
    if arguments[0] == "driver":
        return _build_driver(runtime, arguments[1:], environment, place, api)
    return _build_executor(runtime, environment, place)


def build_daemon_command(
    daemon: DaemonProgram,
    runtime: SparkInstallation,
    environment: Mapping[str, str],
    place: ContainerPlace,
    moved: Callable[[int], int],
) -> list[str]:
    """Return the command that runs a standalone master or worker. The caller can append arguments.

    Args:
        daemon: The daemon to run.
        runtime: The Spark to run.
        environment: The environment of the container, with paths of this machine.
        place: The folders of the container.
        moved: Returns the free port that replaces a port of the master.

    Raises:
        StartError: A setting could not be read.
    """
    options = [
        f"-Xmx{_format_memory(environment.get('SPARK_DAEMON_MEMORY', '1g'))}",
        *_split_options(environment, "SPARK_DAEMON_JAVA_OPTS"),
        *_split_options(environment, daemon.options_variable),
        f"-D{AUTHENTICATE_KEY}=true",
    ]
    if daemon == MASTER:
        port, page = (_parse_port(environment, name, default) for name, default in _MASTER_PORTS.items())
        # The REST server does not support authentication.
        options.append("-Dspark.master.rest.enabled=false")
        words = ["--port", str(moved(port)), "--webui-port", str(moved(page))]
    else:
        # All workers have the same address, so no worker can have the port that applications expect.
        options.append("-Dspark.shuffle.service.port=0")
        words = ["--port", "0", "--webui-port", "0", "--work-dir", str(place.work / "work")]
    class_path = _build_class_path(runtime, environment, environment.get("SPARK_DAEMON_CLASSPATH"))
    return [*_build_java(runtime, place, options), "-cp", class_path, daemon.main_class, "--host", _LOOPBACK, *words]


def _build_driver(
    runtime: SparkInstallation,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    place: ContainerPlace,
    api: ApiAccess,
) -> list[str]:
    words = list(arguments)
    properties: dict[str, str] = {}
    if _PROPERTIES_OPTION in words[:-1]:
        position = words.index(_PROPERTIES_OPTION) + 1
        file, delivers = Path(words[position]), not place.owns_directory
        properties = read_driver_properties(file, place.rewrite, delivers_local_files=delivers)
        words[position] = str(write_properties(place.scratch, properties, f"Copy of {file}"))
    options = [
        f"-Xmx{_format_memory(properties.get('spark.driver.memory', '1g'))}",
        *_split_options(properties, "spark.driver.defaultJavaOptions"),
        *_split_options(properties, "spark.driver.extraJavaOptions"),
    ]
    library = properties.get("spark.driver.extraLibraryPath")
    if library:
        options.append(f"-Djava.library.path={library}")
    return [
        *_build_java(runtime, place, options),
        "-cp",
        _build_class_path(runtime, environment, properties.get("spark.driver.extraClassPath")),
        _SUBMIT,
        *_build_settings(place, api, properties),
        "--deploy-mode",
        "client",
        *words,
    ]


def _build_settings(place: ContainerPlace, api: ApiAccess, properties: Mapping[str, str]) -> list[str]:
    master = properties.get("spark.master", "")
    settings = {
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.host": _LOOPBACK,
        "spark.driver.port": "0",
        "spark.driver.blockManager.port": "0",
        **{
            key: str(place.assign_port(_parse_port(properties, key, default))) for key, default in _SERVED_PORTS.items()
        },
        AUTHENTICATE_KEY: "true",
        "spark.kubernetes.driver.master": api.url,
    }
    access = "spark.kubernetes.authenticate.driver.mounted"
    if not place.owns_directory:
        # In cluster mode, a driver deletes and replaces files in its working directory. This folder is the user's, so
        # the driver runs in client mode.
        access = "spark.kubernetes.authenticate"
        settings["spark.kubernetes.submitInDriver"] = "false"
        if master.startswith(_KUBERNETES_MASTER):
            settings["spark.master"] = f"{_KUBERNETES_MASTER}{api.url}"
    settings[f"{access}.caCertFile"] = str(place.credentials / "ca.crt")
    settings[f"{access}.oauthTokenFile"] = str(place.credentials / "token")
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def _build_executor(runtime: SparkInstallation, environment: Mapping[str, str], place: ContainerPlace) -> list[str]:
    memory = _format_memory(environment.get("SPARK_EXECUTOR_MEMORY", "1g"))
    given = [environment[name] for name in sorted(_list_numbered_options(environment), key=_parse_option_number)]
    options = [f"-Xms{memory}", f"-Xmx{memory}", *(word for word in given if _is_accepted(word, runtime.java))]
    flags = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    words = [word for flag, name in flags.items() for word in (flag, environment.get(name, ""))]
    class_path = _build_class_path(runtime, environment, environment.get("SPARK_CLASSPATH"))
    return [*_build_java(runtime, place, options), "-cp", class_path, _EXECUTOR, *words, "--hostname", _LOOPBACK]


def _build_java(runtime: SparkInstallation, place: ContainerPlace, options: Sequence[str]) -> list[str]:
    """Return the beginning of the command line of a JVM. The given options come last and override the others."""
    return [
        str(runtime.java.executable),
        *_MODULE_OPTIONS,
        *_QUICK_START,
        *_build_archive_options(runtime),
        *_OWN_ACCESS_ONLY,
        f"-Djava.io.tmpdir={place.scratch}",
        f"-Duser.home={place.work}",
        *options,
    ]


def _build_archive_options(runtime: SparkInstallation) -> tuple[str, ...]:
    if runtime.class_archive is not None:
        return build_starting_options(runtime.java, runtime.class_archive)
    if runtime.java.archive is not None:
        # The archive was written without the other options. Without -Xlog, the JVM would warn in the output of the
        # container.
        return (f"-XX:SharedArchiveFile={runtime.java.archive}", "-Xlog:disable")
    return ()


def build_recording_command(runtime: SparkInstallation, archive: Path, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs SparkSubmit with `arguments` and writes an archive of the classes that it loads."""
    return [
        str(runtime.java.executable),
        *_MODULE_OPTIONS,
        *_QUICK_START,
        *build_recording_options(runtime.java, archive),
        "-cp",
        f"{runtime.home}/jars/*",
        _SUBMIT,
        *arguments,
    ]


def _build_class_path(runtime: SparkInstallation, environment: Mapping[str, str], extra: str | None) -> str:
    # In an image, the configuration folders come first. An archive of classes requires the jars first. No jar contains
    # a file that a configuration folder could contain.
    folders = (
        extra,
        f"{runtime.home}/jars/*",
        environment.get("SPARK_CONF_DIR"),
        environment.get("HADOOP_CONF_DIR"),
        environment.get("SPARK_EXTRA_CLASSPATH"),
    )
    return ":".join(folder for folder in folders if folder)


def _is_accepted(option: str, java: Java) -> bool:
    """Return whether the Java has all modules that an option names. Otherwise the JVM would not start."""
    if not option.startswith(_ADD_MODULES):
        return True
    return set(option.removeprefix(_ADD_MODULES).split(",")) <= java.modules


def _split_options(settings: Mapping[str, str], name: str) -> list[str]:
    """Split a setting into options, as a shell does."""
    try:
        return shlex.split(settings.get(name, ""))
    except ValueError as error:
        raise StartError(f"{name} could not be split into options: {error}") from error


def _parse_port(environment: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(environment.get(name, default))
    except ValueError:
        raise StartError(f"invalid port {environment[name]!r} in {name}") from None


def _list_numbered_options(environment: Mapping[str, str]) -> list[str]:
    return [name for name in environment if name.startswith(_JAVA_OPTION) and name.removeprefix(_JAVA_OPTION).isdigit()]


def _parse_option_number(name: str) -> int:
    return int(name.removeprefix(_JAVA_OPTION))


def _format_memory(text: str) -> str:
    """Return Spark's memory size for the JVM. A number without a unit is in MiB. The final `b` of a unit is dropped."""
    lowered = text.strip().lower()
    if lowered.isdigit():
        return f"{lowered}m"
    return lowered.removesuffix("b") or lowered


def _find_python(wanted: str | None, environment: Mapping[str, str]) -> str:
    """Return the wanted interpreter if this machine has it, else the interpreter of this process."""
    if wanted and wanted not in ("python", "python3"):
        found = shutil.which(wanted, path=environment.get("PATH"))
        if found:
            return found
        _warn_about_missing_python(wanted)
    return sys.executable


@cache  # the driver and each executor want the same one
def _warn_about_missing_python(wanted: str) -> None:
    logger.warning("this machine has no Python %s: %s runs instead, with its packages", wanted, sys.executable)
