"""Hypothesis strategies for submissions with all features that spark-submit supports."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.spark_submit.files import CONFIGURATION_FILES
from tests.spark_submit.integrations import draw_credentials, draw_hadoop, draw_kerberos, draw_volcano
from tests.spark_submit.templates import TEMPLATES
from tests.spark_submit.values import (
    BAD_SIZES,
    BOOLEANS,
    FACTORS,
    NAMES,
    ODD,
    PATHS,
    PRINTABLE,
    QUANTITIES,
    SIZES,
    STEPS,
    VARIABLES,
    WORDS,
    K,
    Settings,
    draw_mostly,
    draw_optional,
    draw_setting,
)

IMAGE = {f"{K}container.image": "registry.example/spark:{{SPARK_VERSION}}"}


@dataclass(frozen=True)
class DrawnSubmission:
    """One submission. `files` are written to a directory whose path replaces `@FILES@` everywhere."""

    conf: Settings
    flags: tuple[str, ...]
    resource: str
    arguments: tuple[str, ...]
    environment: Settings = field(default_factory=dict)
    files: dict[str, str | bytes] = field(default_factory=dict)


def draw_family(
    prefix: str, names: st.SearchStrategy[str], values: st.SearchStrategy[str]
) -> st.SearchStrategy[Settings]:
    """Draw a few settings with one prefix."""
    return st.dictionaries(names.map(lambda name: f"{prefix}{name}"), values, min_size=1, max_size=4)


def draw_devices() -> st.SearchStrategy[Settings]:
    return st.builds(
        lambda name, amount, vendor: {
            f"spark.driver.resource.{name}.amount": amount,
            **({f"spark.driver.resource.{name}.vendor": vendor} if vendor else {}),
        },
        st.sampled_from(["gpu", "fpga"]),
        draw_mostly(st.sampled_from(["0", "1", "2"]), "x"),
        draw_mostly(st.sampled_from(["nvidia.com", "amd.com"]), ""),
    )


def draw_volume(role: str) -> st.SearchStrategy[Settings]:
    """Draw one volume of any type. Sometimes a setting is missing or invalid."""
    required: dict[str, dict[str, st.SearchStrategy[str]]] = {
        "hostPath": {"options.path": PATHS},
        "emptyDir": {},
        "nfs": {"options.path": PATHS, "options.server": WORDS},
        "persistentVolumeClaim": {"options.claimName": st.sampled_from(["OnDemand", "a-claim", "x-OnDemand-y"])},
    }
    further: dict[str, dict[str, st.SearchStrategy[str]]] = {
        "hostPath": {"options.type": st.sampled_from(["", "Directory", "DirectoryOrCreate"])},
        "emptyDir": {
            "options.medium": st.sampled_from(["", "Memory"]),
            "options.sizeLimit": draw_mostly(st.sampled_from(["1Gi", "500Mi", "2048", "1G"]), "5"),
        },
        "nfs": {},
        "persistentVolumeClaim": {
            "options.storageClass": WORDS,
            "options.sizeLimit": draw_mostly(st.sampled_from(["1Gi", "10G"]), "7"),
            "label.team": WORDS,
            "annotation.a/b": WORDS,
        },
    }
    mount = {"mount.readOnly": BOOLEANS}
    within = draw_mostly(st.sampled_from(["", "mount.subPath", "mount.subPathExpr"]), "mount.subPath mount.subPathExpr")

    def draw_of_type(kind: str) -> st.SearchStrategy[Settings]:
        settings = st.fixed_dictionaries({"mount.path": PATHS, **required[kind]}, optional={**further[kind], **mount})
        names = st.one_of(WORDS, st.just("spark-local-dir-1"))
        return st.builds(
            lambda name, values, within, dropped: {
                f"{K}{role}.volumes.{kind}.{name}.{key}": value
                for key, value in (values | dict.fromkeys(within.split(), "part")).items()
                if key != dropped
            },
            names,
            settings,
            within,
            st.sampled_from([""] * 12 + ["mount.path", "options.path", "options.claimName"]),
        )

    return st.sampled_from([*required]).flatmap(draw_of_type)


def merge_several(values: st.SearchStrategy[Settings], most: int = 3) -> st.SearchStrategy[Settings]:
    return st.lists(values, min_size=1, max_size=most).map(lambda each: {k: v for one in each for k, v in one.items()})


def draw_ports() -> st.SearchStrategy[Settings]:
    number = st.integers(1024, 65535).map(str)
    keys = ("spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port", "spark.ui.port")
    return draw_optional(dict.fromkeys((*keys, "spark.connect.grpc.binding.port"), number))


def draw_service() -> st.SearchStrategy[Settings]:
    prefix = f"{K}driver.service."
    return draw_optional(
        {
            f"{prefix}ipFamilyPolicy": draw_mostly(st.sampled_from(["SingleStack", "PreferDualStack"]), "Other"),
            f"{prefix}ipFamilies": draw_mostly(
                st.sampled_from(["IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4"]), "IPv4, IPv6"
            ),
            f"{prefix}publishNotReadyAddresses": BOOLEANS,
            f"{prefix}label.a": WORDS,
            f"{prefix}label.spark-app-selector": WORDS,
            f"{prefix}annotation.b/c": ODD,
        }
    )


def draw_memory() -> st.SearchStrategy[Settings]:
    often_good = draw_mostly(SIZES, *BAD_SIZES)
    return draw_optional(
        {
            "spark.driver.memory": often_good,
            "spark.executor.memory": often_good,
            "spark.driver.memoryOverhead": st.sampled_from(["0", "100", "1g", "500m"]),
            "spark.driver.minMemoryOverhead": st.sampled_from(["100", "1g", "10m"]),
            "spark.driver.memoryOverheadFactor": draw_mostly(FACTORS, "0", "-1", "x"),
            f"{K}memoryOverheadFactor": draw_mostly(FACTORS, "0", "-0.1"),
        }
    )


def draw_cores() -> st.SearchStrategy[Settings]:
    return draw_optional(
        {
            "spark.driver.cores": draw_mostly(st.sampled_from(["1", "2", "4"]), "0", "x", "1.5", " 2 "),
            f"{K}driver.request.cores": QUANTITIES,
            f"{K}driver.limit.cores": QUANTITIES,
            "spark.executor.cores": draw_mostly(st.just("3"), "0"),
            "spark.executor.instances": draw_mostly(st.just("3"), "0"),
            "spark.dynamicAllocation.enabled": BOOLEANS,
        }
    )


def draw_images() -> st.SearchStrategy[Settings]:
    return draw_optional(
        {
            f"{K}driver.container.image": st.sampled_from(["a/b:{{SPARK_VERSION}}", "other:1"]),
            f"{K}container.image.pullPolicy": draw_mostly(
                st.sampled_from(["Always", "Never", "IfNotPresent"]), "Sometimes"
            ),
            f"{K}container.image.pullSecrets": st.sampled_from(["a", "a,b", " a , b ,", ""]),
        }
    )


def draw_placement() -> st.SearchStrategy[Settings]:
    return draw_optional(
        {
            f"{K}scheduler.name": WORDS,
            f"{K}driver.scheduler.name": WORDS,
            f"{K}node.selector.zone": WORDS,
            f"{K}driver.node.selector.zone": WORDS,
            f"{K}driver.node.selector.disk": WORDS,
            f"{K}driver.pod.name": WORDS,
            f"{K}authenticate.driver.serviceAccountName": WORDS,
            f"{K}driver.securityContext.allowPrivilegeEscalation": BOOLEANS,
            f"{K}securityContext.allowPrivilegeEscalation": BOOLEANS,
            f"{K}local.dirs.tmpfs": BOOLEANS,
            f"{K}legacy.useReadWriteOnceAccessMode": BOOLEANS,
            "spark.local.dir": PATHS,
            f"{K}driver.pod.excludedFeatureSteps": st.sampled_from(
                [f"{STEPS}NetworkPolicyFeatureStep", f"{STEPS}DriverServiceFeatureStep,{STEPS}LocalDirsFeatureStep"]
                + [
                    f"{STEPS}{step}FeatureStep"
                    for step in ("MountSecrets", "EnvSecrets", "MountVolumes", "HadoopConfDriver")
                ]
                + [f"{STEPS}KerberosConfDriverFeatureStep , {STEPS}PodTemplateConfigMapStep"]
            ),
        }
    )


def draw_local_directories() -> st.SearchStrategy[Settings]:
    return draw_setting("spark.local.dir", st.sampled_from(["/a", " /a ", "/a/../b", "${env:PICKED}"]))


def draw_references() -> st.SearchStrategy[Settings]:
    """Draw values that refer to other settings, to the environment, or to an undefined name."""
    return draw_optional(
        {
            f"{K}driver.scheduler.name": st.sampled_from(["${spark.app.name}", "${env:PICKED}", "${spark.nothing}"]),
            "spark.driver.memoryOverhead": st.just("${spark.picked.size}"),
            "spark.driver.minMemoryOverhead": draw_mostly(st.just("${spark.picked.size}"), "${env:PICKED_SIZE}"),
            "spark.picked.size": SIZES,
            f"{K}driver.label.picked": st.just("${spark.app.name}"),
            "spark.app.name": WORDS,
        }
    )


def draw_unknown_settings() -> st.SearchStrategy[Settings]:
    names = PRINTABLE.map(lambda text: text.replace("=", "").strip())
    return draw_family("spark.x", names, ODD)


FEATURES: tuple[Callable[[], st.SearchStrategy[Settings]], ...] = (
    draw_memory,
    draw_cores,
    draw_images,
    draw_placement,
    draw_ports,
    draw_service,
    draw_devices,
    draw_credentials,
    draw_hadoop,
    draw_references,
    draw_unknown_settings,
    lambda: merge_several(draw_volume("driver")),
    lambda: merge_several(draw_volume("executor"), 1),
    lambda: draw_family(
        f"{K}driver.label.",
        draw_mostly(WORDS, "spark-role", "spark-app-selector"),
        st.one_of(WORDS, st.just("x{{APP_ID}}y{{EXECUTOR_ID}}")),
    ),
    lambda: draw_family(f"{K}driver.annotation.", WORDS, st.one_of(ODD, st.just("{{APP_ID}}/{{EXECUTOR_ID}}"))),
    lambda: draw_family(f"{K}driverEnv.", VARIABLES, st.one_of(ODD, st.just("{{APP_ID}}"))),
    lambda: draw_family(f"{K}driver.secrets.", WORDS, PATHS),
    lambda: draw_family(
        f"{K}driver.secretKeyRef.", VARIABLES, draw_mostly(st.sampled_from(["a:b", "s:k.x"]), "nokey", "a:b:c", "a:")
    ),
    lambda: draw_setting(
        "spark.jars",
        st.sampled_from(["local:///a.jar", "https://h/a.jar, local:///b.jar", "@FILES@/*.jar", "file:@FILES@/app.jar"]),
    ),
    lambda: draw_setting(
        "spark.files", st.sampled_from(["local:///f", "https://h/a,ftp://h/b", "@FILES@/*.conf,@FILES@/a b.txt"])
    ),
    lambda: draw_setting(
        "spark.archives",
        st.sampled_from(["local:///f.zip#x", "https://h/a.tgz#env", "@FILES@/some.zip#here,local:///x.zip"]),
    ),
    lambda: draw_setting(
        "spark.submit.pyFiles", st.sampled_from(["local:///f.py", "https://h/a.zip,local:///b.egg", "@FILES@/job.py"])
    ),
    lambda: draw_setting("spark.driver.host", WORDS),
    lambda: draw_setting("spark.app.submitTime", st.just("1234567890123")),
    draw_volcano,
    draw_kerberos,
    draw_local_directories,
    lambda: draw_setting(f"{K}namespace", WORDS),
    lambda: draw_optional({"spark.pyspark.python": PATHS, "spark.pyspark.driver.python": PATHS}),
    lambda: draw_setting(
        f"{K}configMap.maxSize", draw_mostly(st.sampled_from(["10", "100", "1048576"]), "1048577", "x")
    ),
)

ENVIRONMENT = draw_optional(
    {
        "SPARK_USER": WORDS,
        "PYSPARK_PYTHON": PATHS,
        "PYSPARK_DRIVER_PYTHON": PATHS,
        "SPARK_LOCAL_DIRS": PATHS,
        "SPARK_DRIVER_MEMORY": SIZES,
        "SPARK_EXECUTOR_MEMORY": SIZES,
        "SPARK_EXECUTOR_CORES": st.just("2"),
        "SPARK_CONF_DIR": st.just("@FILES@/conf"),
        "HADOOP_CONF_DIR": st.just("@FILES@/hadoop"),
        "SPARK_TESTING": st.just("1"),
        "PICKED": WORDS,
        "PICKED_SIZE": SIZES,
    }
)

FLAGS = st.lists(
    st.one_of(
        st.tuples(st.just("--name"), NAMES),
        st.tuples(st.just("--driver-memory"), SIZES),
        st.tuples(st.just("--driver-cores"), st.sampled_from(["1", "2"])),
        st.tuples(st.just("--num-executors"), st.sampled_from(["1", "5"])),
        st.tuples(st.just("--executor-memory"), SIZES),
        st.tuples(st.just("--driver-java-options"), ODD),
        st.tuples(st.just("--driver-class-path"), PATHS),
        st.tuples(st.just("--jars"), st.sampled_from(["local:///x.jar", "https://h/x.jar,local:///y.jar"])),
        st.tuples(st.just("--py-files"), st.just("https://h/x.zip")),
        st.tuples(st.just("--proxy-user"), WORDS),
        st.tuples(st.just("--properties-file"), st.just("@FILES@/some.properties")),
        st.tuples(st.just("--verbose")),
        st.tuples(st.just("--load-spark-defaults")),
    ),
    max_size=3,
)

RESOURCES = st.sampled_from(
    [
        ("local:///opt/spark/app.jar", "org.example.Main"),
        ("https://host/app.jar", "org.example.Main"),
        ("spark-internal", "org.example.Main"),
        ("local:///opt/job.py", ""),
        ("https://host/job.py", ""),
        ("local:///opt/job.R", ""),
        ("@FILES@/job.py", ""),
        ("@FILES@/app.jar", "org.example.Main"),
    ]
)


@st.composite
def draw_submission(draw: st.DrawFn) -> DrawnSubmission:
    """Draw a submission to the address `@API@`."""
    chosen = draw(st.lists(st.sampled_from(range(len(FEATURES))), min_size=1, max_size=6, unique=True))
    conf = dict(IMAGE)
    for index in chosen:
        conf |= draw(FEATURES[index]())
    files: dict[str, str | bytes] = {**CONFIGURATION_FILES}
    for role in ("driver", "executor"):
        if draw(st.integers(0, 3)) == 0:
            files[f"{role}.yaml"] = json.dumps(draw(TEMPLATES), ensure_ascii=False)
            conf[f"{K}{role}.podTemplateFile"] = f"@FILES@/{role}.yaml"
            if draw(st.booleans()):
                conf[f"{K}{role}.podTemplateContainerName"] = draw(st.sampled_from(["main", "side", "none"]))
    resource, main_class = draw(RESOURCES)
    if draw(st.integers(0, 5)):
        conf[f"{K}file.upload.path"] = "file://@FILES@/uploads"
    flags = [word for flag in draw(FLAGS) for word in flag]
    return DrawnSubmission(
        conf=conf,
        flags=(*flags, *(("--class", main_class) if main_class else ())),
        resource=resource,
        arguments=tuple(draw(st.lists(ODD, max_size=4))),
        environment=draw(ENVIRONMENT) if draw(st.booleans()) else {},
        files=files,
    )
