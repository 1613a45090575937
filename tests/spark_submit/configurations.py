"""Submissions of every kind that spark-submit takes, drawn by Hypothesis."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

K = "spark.kubernetes."
IMAGE = {f"{K}container.image": "registry.example/spark:{{SPARK_VERSION}}"}

Settings = dict[str, str]


@dataclass(frozen=True)
class Drawn:
    """One submission: `files` are written to a folder whose path replaces `@FILES@` everywhere."""

    conf: Settings
    flags: tuple[str, ...]
    resource: str
    arguments: tuple[str, ...]
    environment: Settings = field(default_factory=dict)
    files: Settings = field(default_factory=dict)


WORDS = st.text("abcxyz019-", min_size=1, max_size=12).map(lambda word: f"w{word.strip('-')}")
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=20)
ODD = st.one_of(
    PRINTABLE,
    st.sampled_from(
        [
            "",
            " ",
            "a=b",
            "k: v",
            "#x",
            "!x",
            "back\\slash",
            "tab\there",
            "two\nlines",
            " lead",
            "trail ",
            "ü→字🐍",
            '"q"',
        ]
    ),
)
# A name of nothing but dashes leaves an id without a name, which looks like none.
NAMES = st.one_of(WORDS, st.tuples(ODD, WORDS, ODD).map("".join))
PATHS = WORDS.map(lambda word: f"/mnt/{word}")
SIZES = st.sampled_from(["512m", "1g", "2G", "1536", "4gb", "1048576k", "3000MB", "1t", "700m"])
BAD_SIZES = ("0", "0.5g", "1x", "-1g", "", "1 g", "1g1", "g")
FACTORS = st.sampled_from(["0.1", "0.25", "0.4", "1", "1.5", "2.0", "1e-1", "0.333333333333", "12345678.9", "0.00001"])
QUANTITIES = st.sampled_from(["1", "500m", "0.5", "2.5", "100m", "1Ki"])
BOOLEANS = st.sampled_from(["true", "false"])
VARIABLES = st.text("ABCXYZ_09", min_size=1, max_size=8).map(lambda name: f"V{name}")


def seldom(good: st.SearchStrategy[str], *bad: str) -> st.SearchStrategy[str]:
    """Mostly a good value."""
    return st.integers(0, 11).flatmap(lambda number: good if number else st.sampled_from(bad))


def family(prefix: str, names: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[Settings]:
    """A few settings of one prefix."""
    return st.dictionaries(names.map(lambda name: f"{prefix}{name}"), values, min_size=1, max_size=4)


def one(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[Settings]:
    return values.map(lambda value: {key: value})


def optional(keys: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[Settings]:
    """Any of the settings."""
    return st.fixed_dictionaries({}, optional=keys)


def devices() -> st.SearchStrategy[Settings]:
    return st.builds(
        lambda name, amount, vendor: {
            f"spark.driver.resource.{name}.amount": amount,
            **({f"spark.driver.resource.{name}.vendor": vendor} if vendor else {}),
        },
        st.sampled_from(["gpu", "fpga"]),
        seldom(st.sampled_from(["0", "1", "2"]), "x"),
        seldom(st.sampled_from(["nvidia.com", "amd.com"]), ""),
    )


def volume(role: str) -> st.SearchStrategy[Settings]:
    """One volume of any kind, now and then with something missing or wrong."""
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
            "options.sizeLimit": seldom(st.sampled_from(["1Gi", "500Mi", "2048", "1G"]), "5"),
        },
        "nfs": {},
        "persistentVolumeClaim": {
            "options.storageClass": WORDS,
            "options.sizeLimit": seldom(st.sampled_from(["1Gi", "10G"]), "7"),
            "label.team": WORDS,
            "annotation.a/b": WORDS,
        },
    }
    mount = {"mount.readOnly": BOOLEANS}
    within = seldom(st.sampled_from(["", "mount.subPath", "mount.subPathExpr"]), "mount.subPath mount.subPathExpr")

    def of_type(kind: str) -> st.SearchStrategy[Settings]:
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

    return st.sampled_from([*required]).flatmap(of_type)


def several(values: st.SearchStrategy[Settings], most: int = 3) -> st.SearchStrategy[Settings]:
    return st.lists(values, min_size=1, max_size=most).map(lambda each: {k: v for one in each for k, v in one.items()})


def ports() -> st.SearchStrategy[Settings]:
    number = st.integers(1024, 65535).map(str)
    keys = ("spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port", "spark.ui.port")
    return optional(dict.fromkeys((*keys, "spark.connect.grpc.binding.port"), number))


def service() -> st.SearchStrategy[Settings]:
    prefix = f"{K}driver.service."
    return optional(
        {
            f"{prefix}ipFamilyPolicy": seldom(st.sampled_from(["SingleStack", "PreferDualStack"]), "Other"),
            f"{prefix}ipFamilies": seldom(st.sampled_from(["IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4"]), "IPv4, IPv6"),
            f"{prefix}publishNotReadyAddresses": BOOLEANS,
            f"{prefix}label.a": WORDS,
            f"{prefix}label.spark-app-selector": WORDS,
            f"{prefix}annotation.b/c": ODD,
        }
    )


def memory() -> st.SearchStrategy[Settings]:
    often_good = seldom(SIZES, *BAD_SIZES)
    return optional(
        {
            "spark.driver.memory": often_good,
            "spark.executor.memory": often_good,
            "spark.driver.memoryOverhead": st.sampled_from(["0", "100", "1g", "500m"]),
            "spark.driver.minMemoryOverhead": st.sampled_from(["100", "1g", "10m"]),
            "spark.driver.memoryOverheadFactor": seldom(FACTORS, "0", "-1", "x"),
            f"{K}memoryOverheadFactor": seldom(FACTORS, "0", "-0.1"),
        }
    )


def cores() -> st.SearchStrategy[Settings]:
    return optional(
        {
            "spark.driver.cores": seldom(st.sampled_from(["1", "2", "4"]), "0", "x", "1.5", " 2 "),
            f"{K}driver.request.cores": QUANTITIES,
            f"{K}driver.limit.cores": QUANTITIES,
            "spark.executor.cores": seldom(st.just("3"), "0"),
            "spark.executor.instances": seldom(st.just("3"), "0"),
            "spark.dynamicAllocation.enabled": BOOLEANS,
        }
    )


def images() -> st.SearchStrategy[Settings]:
    return optional(
        {
            f"{K}driver.container.image": st.sampled_from(["a/b:{{SPARK_VERSION}}", "other:1"]),
            f"{K}container.image.pullPolicy": seldom(st.sampled_from(["Always", "Never", "IfNotPresent"]), "Sometimes"),
            f"{K}container.image.pullSecrets": st.sampled_from(["a", "a,b", " a , b ,", ""]),
        }
    )


def placement() -> st.SearchStrategy[Settings]:
    return optional(
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
                [
                    "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep",
                    "org.apache.spark.deploy.k8s.features.DriverServiceFeatureStep,"
                    "org.apache.spark.deploy.k8s.features.LocalDirsFeatureStep",
                ]
            ),
        }
    )


def security() -> st.SearchStrategy[Settings]:
    prefix = f"{K}authenticate.driver."
    return optional(
        {
            f"{prefix}oauthToken": WORDS,
            f"{prefix}caCertFile": seldom(st.just("@FILES@/cert.pem"), "/no/such/file"),
            f"{prefix}clientKeyFile": st.just("@FILES@/cert.pem"),
            f"{prefix}mounted.oauthTokenFile": PATHS,
            f"{prefix}mounted.caCertFile": PATHS,
            f"{prefix}serviceAccountName": WORDS,
            "spark.other.oauthToken": WORDS,
            "spark.other.password": WORDS,
        }
    )


def hadoop() -> st.SearchStrategy[Settings]:
    token = f"{K}kerberos.tokenSecret."
    return st.one_of(
        one(f"{K}hadoop.configMapName", WORDS),
        one(f"{K}kerberos.krb5.configMapName", WORDS),
        one(
            f"{K}kerberos.krb5.path",
            seldom(st.sampled_from(["@FILES@/krb5.conf", "@FILES@/other.conf"]), "/no/such/file"),
        ),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{K}kerberos.krb5.path": "@FILES@/krb5.conf", f"{K}kerberos.krb5.configMapName": "both"}),
    )


def volcano() -> st.SearchStrategy[Settings]:
    step = {f"{K}driver.pod.featureSteps": "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"}
    template = f"{K}scheduler.volcano.podGroupTemplate"
    choices = optional(
        {
            f"{template}File": seldom(st.just("@FILES@/group.yaml"), "/no/such/file"),
            f"{template}Json": seldom(st.just('{"metadata": {"labels": {"a": "b"}}, "spec": {"queue": "json"}}'), "{"),
        }
    )
    return choices.map(lambda chosen: step | chosen)


def kerberos() -> st.SearchStrategy[Settings]:
    keytab = {"spark.kerberos.keytab": "local:///etc/keytab"}
    return st.sampled_from([keytab | {"spark.kerberos.principal": "me"}] * 5 + [keytab])


def local_directories() -> st.SearchStrategy[Settings]:
    return one("spark.local.dir", st.sampled_from(["/a", " /a ", "/a/../b", "${env:PICKED}"]))


def strange() -> st.SearchStrategy[Settings]:
    """Keys that look like others, and values at the edges of what is allowed."""
    volume = f"{K}driver.volumes."
    return st.sampled_from(
        [
            {f"{K}driver.label.": "empty"},
            {f"{K}driverEnv.": "empty"},
            {"spark.driver.memory": " 1g "},
            {"spark.driver.memory": "500k"},
            {"spark.driver.memoryOverhead": "-1"},
            {"spark.driver.memoryOverhead": "1.5g"},
            {"spark.driver.minMemoryOverhead": "-1"},
            {"spark.driver.memoryOverheadFactor": "NaN"},
            {"spark.driver.memoryOverheadFactor": "0.1d"},
            {f"{K}memoryOverheadFactor": " 0.2 "},
            {f"{K}memoryOverheadFactor": "1e-7"},
            {"spark.driver.cores": "+2"},
            {"spark.ui.port": "-5"},
            {"spark.ui.port": "70000"},
            {"spark.driver.port": "x"},
            {"spark.driver.resource.gpu.discoveryScript": "/s"},
            {"spark.driver.resource.gpu.amount": "1", "spark.driver.resource.gpu.vendor": "v.com"},
            {"spark.driver.resource.gpu": "1"},
            {"spark.driver.resource.a.b.amount": "1", "spark.driver.resource.a.b.vendor": "v"},
            {f"{volume}emptyDir.x": "1"},
            {f"{volume}configMap.x.mount.path": "/x"},
            {f"{volume}emptyDir.a.mount.path": "/x", f"{volume}emptyDir.b.mount.path": "/x"},
            {
                f"{volume}emptyDir.a.mount.path": "/x",
                f"{volume}hostPath.a.mount.path": "/y",
                f"{volume}hostPath.a.options.path": "/z",
            },
            {f"{volume}emptyDir.a.mount.path": "/x", f"{volume}emptyDir.a.mount.readOnly": "yes"},
            {f"{volume}emptyDir.a.mount.path": "/x", f"{volume}emptyDir.a.options.unknown": "1"},
            {f"{volume}emptyDir.a.mount.path": "", f"{volume}emptyDir.a.options.sizeLimit": ""},
            {f"{volume}emptyDir.a.mount.path": "/x", f"{volume}emptyDir.a.options.sizeLimit": "1023"},
            {f"{volume}emptyDir.a.mount.path": "/x", f"{volume}emptyDir.a.options.sizeLimit": "0999999"},
            {
                f"{volume}emptyDir.a.mount.path": "/x",
                f"{volume}emptyDir.a.mount.subPath": "",
                f"{volume}emptyDir.a.mount.subPathExpr": "",
            },
            {f"{K}driver.volumes.hostPath.a.mount.path": "/x", f"{K}driver.volumes.hostPath.a.options.path": ""},
            {f"{K}driver.podTemplateFile": "file:@FILES@/pod.yaml"},
            {f"{K}driver.podTemplateFile": "@FILES@/notpod.yaml"},
            {f"{K}driver.podTemplateFile": "@FILES@/bad.yaml"},
            {f"{K}driver.podTemplateFile": "@FILES@/two.yaml"},
            {f"{K}driver.podTemplateFile": "@FILES@/empty.yaml"},
            {f"{K}driver.podTemplateFile": ""},
            {f"{K}executor.podTemplateFile": "@FILES@/bad.yaml"},
            {f"{K}executor.podTemplateFile": "file:@FILES@/pod.yaml"},
            {f"{K}executor.podTemplateFile": "@FILES@/empty.yaml"},
            {f"{K}container.image": " "},
            {f"{K}namespace": ""},
            {f"{K}container.image.pullPolicy": "always"},
            {f"{K}local.dirs.tmpfs": "yes"},
            {f"{K}local.dirs.tmpfs": " TRUE "},
            {f"{K}driver.securityContext.allowPrivilegeEscalation": "no"},
            {f"{K}driver.service.publishNotReadyAddresses": "1"},
            {f"{K}driver.pod.featureSteps": "org.example.None"},
            {f"{K}driver.pod.excludedFeatureSteps": "org.example.None"},
            {f"{K}driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.DriverCommandFeatureStep"},
            {f"{K}driver.scheduler.name": ""},
            {f"{K}driver.pod.name": ""},
            {f"{K}authenticate.driver.serviceAccountName": ""},
            {f"{K}authenticate.driver.oauthToken": ""},
            {f"{K}authenticate.driver.oauthTokenFile": "/x"},
            {f"{K}driver.request.cores": ""},
            {f"{K}driver.limit.cores": ""},
            {"spark.app.name": "x" * 80},
            {"spark.app.name": "9Name_With.Dots--and---dashes-"},
            {"spark.app.name": "İstanbul ß"},
            {"spark.app.id": "given"},
            {"spark.driver.bindAddress": "1.2.3.4"},
            {"spark.driver.host": ""},
            {"spark.submit.deployMode": "client"},
            {"spark.master": "local"},
            {"spark.jars": ""},
            {"spark.jars": ", ,"},
            {"spark.files": "rel/ative"},
            {"spark.submit.pyFiles": ""},
            {"spark.redaction.regex": "(?i)secret"},
            {"spark.kubernetes.driverEnv.SPARK_USER": "other", "spark.kubernetes.driverEnv.SPARK_CONF_DIR": "/x"},
            {"spark.kubernetes.driver.secrets.": "/x"},
            {"spark.kubernetes.driver.secrets.a": ""},
            {"spark.a": "${spark.b}", "spark.b": "${spark.a}"},
            {f"{K}driver.scheduler.name": "${spark.b}", "spark.b": "${spark.b}"},
            {f"{K}driver.scheduler.name": "${system:user.none}"},
            {f"{K}driver.scheduler.name": "${java.home}"},
            {f"{K}driver.annotation.x": "${spark.app.name}"},
            {f"{K}container.image": "${spark.app.name}:{{SPARK_VERSION}}"},
        ]
    )


def references() -> st.SearchStrategy[Settings]:
    """Values that refer to other settings, to the environment, or to nothing."""
    return optional(
        {
            f"{K}driver.scheduler.name": st.sampled_from(["${spark.app.name}", "${env:PICKED}", "${spark.nothing}"]),
            "spark.driver.memoryOverhead": st.just("${spark.picked.size}"),
            "spark.driver.minMemoryOverhead": seldom(st.just("${spark.picked.size}"), "${env:PICKED_SIZE}"),
            "spark.picked.size": SIZES,
            f"{K}driver.label.picked": st.just("${spark.app.name}"),
            "spark.app.name": WORDS,
        }
    )


def anything() -> st.SearchStrategy[Settings]:
    names = PRINTABLE.map(lambda text: text.replace("=", "").strip())
    return family("spark.x", names, ODD)


FEATURES: tuple[Callable[[], st.SearchStrategy[Settings]], ...] = (
    memory,
    cores,
    images,
    placement,
    ports,
    service,
    devices,
    security,
    hadoop,
    references,
    anything,
    lambda: several(volume("driver")),
    lambda: several(volume("executor"), 1),
    lambda: family(
        f"{K}driver.label.",
        seldom(WORDS, "spark-role", "spark-app-selector"),
        st.one_of(WORDS, st.just("x{{APP_ID}}y{{EXECUTOR_ID}}")),
    ),
    lambda: family(f"{K}driver.annotation.", WORDS, st.one_of(ODD, st.just("{{APP_ID}}/{{EXECUTOR_ID}}"))),
    lambda: family(f"{K}driverEnv.", VARIABLES, st.one_of(ODD, st.just("{{APP_ID}}"))),
    lambda: family(f"{K}driver.secrets.", WORDS, PATHS),
    lambda: family(
        f"{K}driver.secretKeyRef.", VARIABLES, seldom(st.sampled_from(["a:b", "s:k.x"]), "nokey", "a:b:c", "a:")
    ),
    lambda: one(
        "spark.jars",
        st.sampled_from(["local:///a.jar", "https://h/a.jar, local:///b.jar", "@FILES@/*.jar", "file:@FILES@/app.jar"]),
    ),
    lambda: one(
        "spark.files",
        st.sampled_from(["local:///f", "https://h/a,ftp://h/b", "@FILES@/*.conf,@FILES@/a b.txt"]),
    ),
    lambda: one(
        "spark.archives",
        st.sampled_from(["local:///f.zip#x", "https://h/a.tgz#env", "@FILES@/some.zip#here,local:///x.zip"]),
    ),
    lambda: one(
        "spark.submit.pyFiles", st.sampled_from(["local:///f.py", "https://h/a.zip,local:///b.egg", "@FILES@/job.py"])
    ),
    lambda: one("spark.driver.host", WORDS),
    lambda: one("spark.app.submitTime", st.just("1234567890123")),
    lambda: volcano(),
    lambda: kerberos(),
    lambda: local_directories(),
    lambda: strange(),
    lambda: one(f"{K}namespace", WORDS),
    lambda: optional({"spark.pyspark.python": PATHS, "spark.pyspark.driver.python": PATHS}),
    lambda: one(f"{K}configMap.maxSize", seldom(st.sampled_from(["10", "100", "1048576"]), "1048577", "x")),
)

TEMPLATES = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({}, optional={
        "containers": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["main", "side", "third"])},
                optional={
                    "image": WORDS,
                    "args": st.lists(WORDS, max_size=2),
                    "command": st.lists(WORDS, max_size=2),
                    "env": st.lists(st.fixed_dictionaries({"name": VARIABLES}, optional={"value": ODD}), max_size=2),
                    "ports": st.just([{"containerPort": 1, "name": "p"}]),
                    "resources": st.sampled_from([
                        {"requests": {"cpu": "7", "memory": "1Gi", "ephemeral-storage": "1Gi"}},
                        {"limits": {"cpu": "7", "memory": "1Gi", "x/y": 1}},
                        {"limits": {}, "requests": {"cpu": 0.5}},
                    ]),
                    "securityContext": st.sampled_from([{}, {"runAsUser": 5}, {"allowPrivilegeEscalation": True}]),
                    "volumeMounts": st.just([{"name": "spark-local-dir-t", "mountPath": "/t"}]),
                    "lifecycle": st.just({"preStop": {"exec": {"command": ["a"]}}}),
                },
            ),
            max_size=3,
            unique_by=lambda container: container["name"],
        ),
        "initContainers": st.just([{"name": "init", "image": "i", "restartPolicy": "Always"}]),
        "volumes": st.sampled_from([[], [{"name": "spark-local-dir-t", "emptyDir": {}}]]),
        "serviceAccountName": WORDS,
        "schedulerName": WORDS,
        "restartPolicy": st.just("Always"),
        "tolerations": st.sampled_from([[], [{"key": "k", "operator": "Exists"}]]),
        "priorityClassName": WORDS,
        "nodeSelector": st.sampled_from([{}, {"zone": "t", "n": 1}]),
        "imagePullSecrets": st.just([{"name": "t"}]),
        "hostNetwork": st.booleans(),
        "hostname": st.none(),
        "securityContext": st.sampled_from([{}, {"fsGroup": 1}]),
    })},
    optional={
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries({}, optional={
            "name": WORDS,
            "namespace": WORDS,
            "labels": st.sampled_from([{}, {"a": "b"}, {"spark-role": "x", "n": 5, "yes": True}]),
            "annotations": st.sampled_from([{}, {"a": "b", "c": 1.5}]),
            "creationTimestamp": st.none(),
        }),
    },
)  # fmt: skip

ENVIRONMENT = optional(
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

CONFIGURATION_FILES = {
    "conf/spark-defaults.conf": "spark.executor.memory 3g\nspark.from.defaults: yes \nother.key 1\n",
    "conf/log4j2.properties": "a = ü\n",
    "conf/sparkling.conf": "left out",
    "conf/spark-env.sh": "#!/bin/sh\n",
    "conf/x.template": "left out",
    "conf/.hidden": "h",
    "hadoop/core-site.xml": "<configuration/>\n",
    "some.properties": "spark.from.file=1\nspark.driver.memory=5g\nspark.wide=a\\u00fcb \\\n  more\n",
    "cert.pem": "CERTIFICATE",
    "krb5.conf": "[libdefaults]\n",
    "other.conf": "[realms]\n",
    "job.py": "pass\n",
    "group.yaml": "apiVersion: x\nmetadata: {name: n, namespace: m, labels: {a: b}}\nspec: {queue: q, minMember: 2}\n",
    "pod.yaml": "# a comment\nspec:\n  priority: 5\n  containers:\n  - name: x\n    env: [{name: A, value: yes}]\n",
    "notpod.yaml": "a: 1\n",
    "bad.yaml": "a: [1\n",
    "two.yaml": "spec: {priority: 1}\n---\nspec: {priority: 2}\n",
    "empty.yaml": "",
    "job.yaml": "apiVersion: batch/v1\nkind: Job\nspec: {completions: 1}\n",
    "app.jar": "",
    "other.jar": "",
    "some.zip": "",
    "a b.txt": "blank",
}


@st.composite
def submissions(draw: st.DrawFn) -> Drawn:
    """A submission to the address `@API@`."""
    chosen = draw(st.lists(st.sampled_from(range(len(FEATURES))), min_size=1, max_size=6, unique=True))
    conf = dict(IMAGE)
    for index in chosen:
        conf |= draw(FEATURES[index]())
    files = dict(CONFIGURATION_FILES)
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
    return Drawn(
        conf=conf,
        flags=(*flags, *(("--class", main_class) if main_class else ())),
        resource=resource,
        arguments=tuple(draw(st.lists(ODD, max_size=4))),
        environment=draw(ENVIRONMENT) if draw(st.booleans()) else {},
        files=files,
    )
