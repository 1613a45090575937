"""The runtime of Spark images: the Spark and the Java of this machine replace those of the image."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from local_kubernetes.api.kinds.documents import JsonObject
from local_kubernetes.kubelet.node.images import PROCESS_IMAGE, ImageRule
from local_kubernetes.kubelet.node.runtime import ContainerCommand, ContainerFolders, ContainerSetup, Runtime

from .authentication import provide_secret
from .programs import MASTER, WORKER, is_started_by, prepare_java_home, write_daemon_scripts
from .software import SparkInstallation, SparkSoftware
from .spark import IMAGE_HOME, WORK_FOLDER, ContainerPlace, build_command, build_daemon_command, build_environment

# Folders in the Spark home that the daemons write to.
_WRITTEN = ("work", "logs")
_IMAGES = ("*/spark", "*/spark-py", "apache/spark*", "*/apache/spark*")


class SparkRuntime:
    """Runs the containers of Spark images with the installed `pyspark` package and a Java of this machine."""

    name = "spark"

    def __init__(self) -> None:
        self._software = SparkSoftware()

    async def map_image_paths(self, folders: ContainerFolders) -> Mapping[str, Path]:
        """Map the image's Spark home to the Spark home of this machine, except folders that Spark writes to.

        Raises:
            SparkMissing: Spark is not installed.
            JavaMissing: There is no Java that can run Spark.
        """
        spark = await self._software.find(folders.cache)
        written = {f"{IMAGE_HOME}/{name}": folders.scratch / name for name in _WRITTEN}
        return {IMAGE_HOME: spark.home, WORK_FOLDER: folders.work, **written}

    async def prepare(self, container: ContainerSetup) -> ContainerCommand:
        """Return the command of the container: a driver, an executor, or the command in the pod.

        Scripts of standalone daemons in the command are replaced by scripts that run on the Java of this machine.

        Raises:
            StartError: A setting, or the driver's properties file, could not be read.
            OSError: A file could not be written.
        """
        folders = container.folders
        spark = await self._software.find(folders.cache)
        environment = build_environment(spark, container.environment)
        environment["JAVA_HOME"] = str(prepare_java_home(spark.java, folders.work.parent / "java"))
        place = ContainerPlace(
            folders.work,
            folders.scratch,
            folders.credentials,
            container.rewrite,
            provide_secret(folders.cache),
            owns_directory=container.owns_directory,
            assign_port=container.assign_port,
        )
        scripts = _write_called_scripts(container, spark, environment, place)
        command, arguments = (
            [container.rewrite(word, scripts) for word in words] for words in (container.command, container.arguments)
        )
        role = None if command else next(iter(arguments), None)
        if role != "executor":  # the variable of an executor has the secret of its driver
            environment |= place.secret.build_variables()
        if role not in ("driver", "executor"):
            environment.setdefault("SPARK_CONF_DIR", str(place.secret.folder))
            return ContainerCommand([*command, *arguments], environment, container.directory)
        words = build_command(spark, arguments, environment, place, container.api)
        # An executor copies files and archives to its working directory, and replaces what is there.
        is_moved = role == "executor" and not container.owns_directory
        return ContainerCommand(words, environment, folders.work if is_moved else container.directory)

    def uses_assigned_ports(self, container: JsonObject) -> bool:
        """Return whether the container starts a standalone master, because all masters have the same ports."""
        return is_started_by(MASTER, [*(container.get("command") or ()), *(container.get("args") or ())])


def build_spark_images(spark: Runtime | None = None) -> tuple[ImageRule, ...]:
    """Return the rules for the images that a local cluster for Spark can run.

    Args:
        spark: The runtime of Spark images; by default a new `SparkRuntime`.
    """
    runtime = spark or SparkRuntime()
    return (*(ImageRule(pattern, runtime) for pattern in _IMAGES), PROCESS_IMAGE)


def _write_called_scripts(
    container: ContainerSetup, spark: SparkInstallation, environment: Mapping[str, str], place: ContainerPlace
) -> dict[str, Path]:
    """Write scripts for the daemons that a container's command starts. Return them by their paths in the container."""
    words: Sequence[str] = [*container.command, *container.arguments]
    commands = {
        daemon: build_daemon_command(daemon, spark, environment, place, container.assign_port)
        for daemon in (MASTER, WORKER)
        if is_started_by(daemon, words)
    }
    if not commands:
        return {}
    scripts = write_daemon_scripts(place.scratch / "sbin", spark.home, commands)
    return {f"{IMAGE_HOME}/sbin/{name}": script for name, script in scripts.items()}
