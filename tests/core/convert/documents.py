"""Documents of Kubeflow's operator: a small one with its conversion, and Hypothesis strategies of large ones."""

from typing import Any

from hypothesis import strategies as st

from airflow_provider_spark_operator.core.convert.conversion import Conversion
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject

IMAGE = "spark:4.3.0"


def build_document(name: str = "pi", metadata: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Return a SparkApplication of Kubeflow's operator. None removes a field."""
    fields = {
        "type": "Scala",
        "mode": "cluster",
        "image": IMAGE,
        "mainClass": "org.example.Main",
        "mainApplicationFile": "local:///app.jar",
        "sparkVersion": "4.3.0",
        "driver": {},
        "executor": {},
    } | spec
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name, "namespace": "ns", **(metadata or {})},
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def convert(**spec: Any) -> Conversion:
    """Convert the small document with these fields of its spec."""
    (conversion,) = convert_document(build_document(**spec))
    return conversion


def convert_spec(**spec: Any) -> JsonObject:
    """Return the spec of the converted document, which has no problems."""
    conversion = convert(**spec)
    assert conversion.problems == ()
    assert conversion.document is not None
    converted: JsonObject = conversion.document["spec"]
    return converted


WORDS = st.text("abcdefghij", min_size=1, max_size=8)
VARIABLES = st.text("ABCDEFGH", min_size=1, max_size=4)
LABELS = st.dictionaries(st.one_of(WORDS, WORDS.map("example.com/{}".format)), WORDS, max_size=2)
PATHS = WORDS.map("/mnt/{}".format)
LOCAL_FILES = WORDS.map("local:///opt/{}.zip".format)
SIZES = st.sampled_from(["512m", "1g", "2g", "1500m"])
CORES = st.sampled_from(["1", "500m", "1500m", "2"])


@st.composite
def draw_document(draw: st.DrawFn) -> JsonObject:
    """Draw an application that both operators can run."""
    volumes = draw(draw_volumes())
    spec: JsonObject = {
        **draw(draw_program()),
        "sparkVersion": "4.3.0",
        "image": draw(st.sampled_from([IMAGE, "registry.example.com/spark:4.3.0"])),
        **draw(
            optional(
                mode=st.just("cluster"),
                arguments=st.lists(st.one_of(WORDS, st.just("--x=1 2"), st.just("")), max_size=3),
                proxyUser=WORDS,
                imagePullPolicy=st.sampled_from(["Always", "IfNotPresent"]),
                imagePullSecrets=st.lists(WORDS, max_size=2, unique=True),
                sparkConf=draw_properties(),
                hadoopConf=st.dictionaries(WORDS, WORDS, max_size=2),
                hadoopConfigMap=st.just("hadoop"),
                nodeSelector=LABELS,
                memoryOverheadFactor=st.sampled_from(["0.1", "0.3"]),
                pythonVersion=st.just("3"),
                dynamicAllocation=draw_allocation(),
                restartPolicy=draw_restarts(),
                timeToLiveSeconds=st.integers(0, 1000),
                monitoring=draw_monitoring(),
                batchScheduler=st.just("other-scheduler"),
            )
        ),
        "driver": draw(draw_pod("driver", volumes)),
        "executor": draw(draw_pod("executor", volumes)),
    }
    if volumes:
        spec["volumes"] = volumes
    metadata = draw(optional(labels=LABELS, annotations=LABELS))
    return build_document(
        draw(st.sampled_from(["pi", "a-b", "report-2"])), metadata, **(spec | {"mainClass": spec.get("mainClass")})
    )


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def draw_program(draw: st.DrawFn) -> JsonObject:
    deps = draw(
        optional(
            jars=st.lists(WORDS.map("local:///jars/{}.jar".format), max_size=2),
            files=st.lists(LOCAL_FILES, max_size=2),
            archives=st.lists(LOCAL_FILES, max_size=2),
            pyFiles=st.lists(LOCAL_FILES, max_size=2),
        )
    )
    kind = draw(st.sampled_from(["Scala", "Java", "Python", "R"]))
    main = {"Python": "local:///opt/main.py", "R": "local:///opt/main.R"}.get(kind, "local:///opt/main.jar")
    program: JsonObject = {"type": kind, "mainApplicationFile": main}
    if kind in ("Scala", "Java"):
        program["mainClass"] = "org.example.Main"
    if kind == "R":
        deps.pop("jars", None)
    return program | ({"deps": deps} if deps else {})


@st.composite
def draw_properties(draw: st.DrawFn) -> JsonObject:
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "spark.sql.shuffle.partitions": st.just("10"),
                "spark.driver.memory": SIZES,
                "spark.driver.cores": st.just("2"),
                "spark.executor.memory": SIZES,
                "spark.executor.instances": st.just("3"),
                "spark.kubernetes.container.image": st.just("other:4.3.0"),
                "spark.kubernetes.driver.container.image": st.just("driver:4.3.0"),
                "spark.kubernetes.driver.label.team": WORDS,
                "spark.kubernetes.driverEnv.A": WORDS,
                "spark.executorEnv.A": WORDS,
                "spark.kubernetes.scheduler.name": st.just("scheduler"),
                "spark.kubernetes.driver.scheduler.name": st.just("driver-scheduler"),
                "spark.kubernetes.driver.pod.name": st.just("named"),
                "spark.app.name": st.just("other"),
                "spark.master": st.just("local"),
                "other.key": st.just("x"),
                "spark.ui.port": st.just("4050"),
            },
        )
    )


@st.composite
def draw_pod(draw: st.DrawFn, role: str, volumes: list[JsonObject]) -> JsonObject:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "cores": st.integers(1, 4),
        "coreRequest": CORES,
        "coreLimit": st.just("4"),
        "memory": SIZES,
        "memoryOverhead": SIZES,
        "image": st.just(f"{role}-image:4.3.0"),
        "env": st.lists(draw_variable(), max_size=3, unique_by=lambda each: each["name"]),
        "envFrom": st.just([{"configMapRef": {"name": "settings"}}]),
        "envVars": st.dictionaries(VARIABLES, WORDS, max_size=2),
        "envSecretKeyRefs": st.dictionaries(
            VARIABLES.map("S{}".format), st.just({"name": "s", "key": "k"}), max_size=1
        ),
        "configMaps": st.just([{"name": "files", "path": "/etc/files"}]),
        "secrets": draw_secrets(),
        "labels": LABELS,
        "annotations": LABELS,
        "affinity": st.just(
            {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
                    }
                }
            }
        ),
        "tolerations": st.just([{"key": "spot", "operator": "Exists"}]),
        "nodeSelector": LABELS,
        "schedulerName": st.just("role-scheduler"),
        "priorityClassName": WORDS,
        "serviceAccount": WORDS,
        "javaOptions": st.sampled_from(["-Xss1m", "-Dx=1 -Dy=2"]),
        "podSecurityContext": st.just({"runAsUser": 185, "fsGroup": 185}),
        "securityContext": st.just({"runAsNonRoot": True, "allowPrivilegeEscalation": False}),
        "lifecycle": st.just({"preStop": {"exec": {"command": ["sleep", "1"]}}}),
        "dnsConfig": st.just({"nameservers": ["10.0.0.10"]}),
        "sidecars": st.just([{"name": "sidecar", "image": "example/sidecar"}]),
        "initContainers": st.just([{"name": "first", "image": "example/first"}]),
        "hostNetwork": st.booleans(),
        "shareProcessNamespace": st.booleans(),
        "hostAliases": st.just([{"ip": "10.0.0.1", "hostnames": ["a"]}]),
        "terminationGracePeriodSeconds": st.integers(1, 60),
        "ports": st.just([{"name": "extra", "containerPort": 9999, "protocol": "TCP"}]),
        "gpu": st.just({"name": "nvidia.com/gpu", "quantity": 2}),
        "template": draw_template(role),
    }
    if role == "driver":
        fields |= {
            "podName": st.just("fixed"),
            "kubernetesMaster": st.just("https://kubernetes.example.com"),
            "serviceLabels": LABELS,
            "serviceAnnotations": LABELS,
        }
    else:
        fields |= {"instances": st.integers(1, 5), "deleteOnTermination": st.booleans()}
    pod = draw(optional(**fields))
    mounts = [
        {
            "name": volume["name"],
            "mountPath": f"/volumes/{index}",
            **({"readOnly": True} if draw(st.booleans()) else {}),
        }
        for index, volume in enumerate(volumes)
        if draw(st.booleans())
    ]
    return pod | ({"volumeMounts": mounts} if mounts else {})


@st.composite
def draw_template(draw: st.DrawFn, role: str) -> JsonObject:
    container = {"name": f"spark-kubernetes-{role}", "env": [{"name": "A", "value": "template"}]}
    spec = draw(
        optional(
            tolerations=st.just([{"key": "template", "operator": "Exists"}]),
            nodeSelector=LABELS,
            affinity=st.just({"podAffinity": {}}),
            priorityClassName=st.just("low"),
            volumes=st.just([{"name": "template", "emptyDir": {}}]),
            serviceAccountName=WORDS,
        )
    )
    others = draw(st.lists(st.just({"name": "template-sidecar", "image": "example/other"}), max_size=1))
    return {"metadata": {"labels": draw(LABELS)}, "spec": spec | {"containers": [*others, container]}}


@st.composite
def draw_variable(draw: st.DrawFn) -> JsonObject:
    source = st.just({"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}})
    return {"name": draw(VARIABLES), **draw(st.one_of(WORDS.map(lambda word: {"value": word}), source))}


@st.composite
def draw_secrets(draw: st.DrawFn) -> list[JsonObject]:
    types = ["Generic", "GCPServiceAccount", "HadoopDelegationToken"]
    names = draw(st.lists(WORDS, min_size=1, max_size=2, unique=True))
    return [{"name": name, "path": f"/secrets/{name}", "secretType": draw(st.sampled_from(types))} for name in names]


@st.composite
def draw_volumes(draw: st.DrawFn) -> list[JsonObject]:
    sources = st.sampled_from(
        [
            {"emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
            {"hostPath": {"path": "/data", "type": "Directory"}},
            {"nfs": {"server": "nfs.example.com", "path": "/export"}},
            {"persistentVolumeClaim": {"claimName": "claim"}},
        ]
    )
    others = st.sampled_from([{"configMap": {"name": "c"}}, {"secret": {"secretName": "s"}}])
    local = [{"name": f"spark-local-dir-{index}", **draw(sources)} for index in range(draw(st.integers(0, 2)))]
    general = [{"name": f"v{index}", **draw(st.one_of(sources, others))} for index in range(draw(st.integers(0, 2)))]
    return [*local, *general]


def draw_allocation() -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(
        {"enabled": st.booleans()},
        optional={
            "initialExecutors": st.just(2),
            "minExecutors": st.integers(0, 2),
            "maxExecutors": st.integers(2, 9),
            "shuffleTrackingEnabled": st.booleans(),
            "shuffleTrackingTimeout": st.integers(1, 9999),
        },
    )


def draw_restarts() -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["Never", "OnFailure", "Always"])},
        optional={
            "onFailureRetries": st.integers(0, 5),
            "onSubmissionFailureRetries": st.integers(0, 5),
            "onFailureRetryInterval": st.integers(1, 60),
            "onSubmissionFailureRetryInterval": st.integers(1, 60),
        },
    )


def draw_monitoring() -> st.SearchStrategy[JsonObject]:
    prometheus = st.fixed_dictionaries(
        {"jmxExporterJar": st.just("/prometheus/agent.jar")},
        optional={
            "port": st.integers(8000, 8010),
            "portName": st.just("metrics"),
            "configFile": st.just("/etc/prometheus.yaml"),
            "configuration": st.just("rules: []"),
        },
    )
    return st.fixed_dictionaries(
        {"exposeDriverMetrics": st.booleans(), "exposeExecutorMetrics": st.booleans()},
        optional={
            "prometheus": prometheus,
            "metricsProperties": st.just("*.sink.jmx.class=x"),
            "metricsPropertiesFile": st.just("/etc/metrics.properties"),
        },
    )
