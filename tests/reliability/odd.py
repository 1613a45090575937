"""Valid but unusual resources, generated from a seed."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject

Odd: TypeAlias = Callable[[Random], Any]

ANOTHER_FINALIZER = "example.com/another"
_GROUP = "spark.apache.org/v1"
_NUMBERS = (-(2**63), -5, -1, 0, 1, 3, 10_001, 2_000_000_000, 2**31, 2**53 + 1, 2**63 - 1)
_TEXTS = (
    "",
    " ",
    "a" * 64,
    "A_b",
    "..",
    "a/b",
    "a%2Fb?x=#y",
    "-1",
    "1gigs",
    "9" * 30,
    "$" + "{a}",
    "{{SPARK_VERSION}}",
    "ümlaut \u2028 \u0000 \U0001f600",
    "line\nbreak\r\n\ttab",
    "true",
    "null",
    "é" * 3000,
)
_KEYS = (
    "",
    " ",
    "spark",
    "a=b: c\\",
    "é\u0000",
    "spark.app.id",
    "spark.app.name",
    "spark.master",
    "spark.kubernetes.namespace",
    "spark.kubernetes.driver.pod.name",
    "spark.kubernetes.container.image",
    "spark.kubernetes.driver.podTemplateFile",
    "spark.kubernetes.executor.podTemplateFile",
    "spark.kubernetes.driver.podTemplateContainerName",
    "spark.kubernetes.driver.label.",
    "spark.kubernetes.driver.label.spark-role",
    "spark.kubernetes.driver.annotation.a/b/c",
    "spark.kubernetes.driver.service.ipFamilyPolicy",
    "spark.kubernetes.driver.secrets.a/b",
    "spark.kubernetes.driver.secretKeyRef.A B",
    "spark.kubernetes.driver.volumes.hostPath.v.mount.path",
    "spark.kubernetes.driver.volumes.persistentVolumeClaim.v.options.sizeLimit",
    "spark.kubernetes.driver.limit.cores",
    "spark.kubernetes.driverEnv.A B=",
    "spark.kubernetes.scheduler.name",
    "spark.kubernetes.node.selector.x",
    "spark.executor.memory",
    "spark.executor.instances",
    "spark.driver.memory",
    "spark.driver.cores",
    "spark.driver.port",
    "spark.driver.blockManager.port",
    "spark.ui.port",
    "spark.driver.resource.gpu.amount",
    "spark.jars",
    "spark.submit.pyFiles",
    "spark.dynamicAllocation.enabled",
)


def generate_odd_resources(seed: int) -> Iterator[JsonObject]:
    """Yield applications and clusters in turn, indefinitely. Equal seeds give equal resources."""
    random = Random(seed)
    number = 0
    while True:
        name = _name(random, f"odd{number:03}")
        yield _cluster(random, name) if number % 4 == 3 else _application(random, name)
        number += 1


def _application(random: Random, name: str) -> JsonObject:
    spec: JsonObject = {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "mainClass": "org.example.Main",
        "jars": "local:///opt/a.jar",
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
    }
    parts: dict[str, Odd] = {
        "mainClass": _text,
        "jars": _text,
        "pyFiles": _text,
        "sparkRFiles": _text,
        "files": _text,
        "proxyUser": _text,
        "deploymentMode": lambda random: random.choice(("ClientMode", "ClusterMode")),
        "driverArgs": lambda random: [_text(random) for _ in range(random.choice((0, 2, 500)))],
        "runtimeVersions": _versions,
        "sparkConf": lambda random: {**spec["sparkConf"], **_conf(random)},
        "driverSpec": lambda random: {"podTemplateSpec": _template(random)},
        "executorSpec": lambda random: {"podTemplateSpec": _template(random)},
        "configMapSpecs": lambda random: [_config_map(random) for _ in range(random.choice((1, 1, 3)))],
        "driverServiceIngressList": lambda random: [_route(random, "ingress")],
        "driverHttpRouteList": lambda random: [_route(random, "httpRoute")],
        "driverGrpcRouteList": lambda random: [_route(random, "grpcRoute")],
        "applicationTolerations": _tolerations,
    }
    return _resource(random, "SparkApplication", name, _with_odd(random, spec, parts))


def _cluster(random: Random, name: str) -> JsonObject:
    workers = {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}
    spec: JsonObject = {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "clusterTolerations": {"instanceConfig": workers},
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
    }
    parts: dict[str, Odd] = {
        "runtimeVersions": _versions,
        "clusterTolerations": lambda random: {"instanceConfig": {each: random.choice(_NUMBERS) for each in workers}},
        "sparkConf": lambda random: {**spec["sparkConf"], **_conf(random)},
        "masterSpec": _daemon,
        "workerSpec": lambda random: {**_daemon(random), "horizontalPodAutoscalerSpec": _object(random, 2)},
    }
    return _resource(random, "SparkCluster", name, _with_odd(random, spec, parts))


def _resource(random: Random, kind: str, name: str, spec: JsonObject) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if random.random() < 0.3:
        metadata |= {"labels": {"a": "b" * 63}, "annotations": {"a": _text(random), "b": "x" * 200_000}}
    if random.random() < 0.1:
        metadata["finalizers"] = [ANOTHER_FINALIZER]
    return {"apiVersion": _GROUP, "kind": kind, "metadata": metadata, "spec": spec}


def _with_odd(random: Random, spec: JsonObject, parts: dict[str, Odd]) -> JsonObject:
    chosen = random.sample(sorted(parts), random.choice((0, 1, 1, 2, 3)))
    return {**spec, **{name: parts[name](random) for name in chosen}}


def _name(random: Random, unique: str) -> str:
    """Return a valid Kubernetes name of random form and length that contains `unique`."""
    length = random.choice((0, 0, 45, 46, 52, 53, 63, 64, 65, 200, 253))
    begin = random.choice(("", "", "a", "0", "7.", "a.b-"))
    filler = random.choice(("x", "x", "9", "a.", "b-"))
    name = begin + unique
    return (name + filler * 253)[: max(length, len(name))].rstrip(".-")


def _text(random: Random) -> str:
    return random.choice(_TEXTS)


def _conf(random: Random) -> JsonObject:
    conf = {random.choice(_KEYS): _text(random) for _ in range(random.choice((1, 1, 2, 5)))}
    return {**conf, **random.choice(({}, {}, {}, {"spark.text": ":" * 600_000}))}


def _versions(random: Random) -> JsonObject:
    return {"sparkVersion": _text(random), "scalaVersion": _text(random)}


def _value(random: Random, depth: int) -> Any:
    plain: tuple[Odd, ...] = (
        _text,
        lambda random: random.choice(_NUMBERS),
        lambda _: 1.5,
        lambda _: True,
        lambda _: [],
        lambda _: {},
        lambda random: _nest(random.choice((20, 120, 400))),
    )
    inner: tuple[Odd, ...] = (
        lambda random: _object(random, depth - 1),
        lambda random: [_value(random, depth - 1) for _ in range(random.choice((1, 2)))],
    )
    return random.choice(plain if depth == 0 else plain + inner + inner)(random)


def _nest(depth: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(depth):
        value = {"a": value}
    return value


_FIELDS = (
    "metadata",
    "spec",
    "name",
    "labels",
    "annotations",
    "containers",
    "initContainers",
    "volumes",
    "image",
    "command",
    "args",
    "env",
    "ports",
    "port",
    "selector",
    "template",
    "replicas",
    "securityContext",
    "resources",
    "serviceAccountName",
    "nodeSelector",
    "minReplicas",
    "metrics",
    "unheardOf",
    "x" * 300,
)


def _object(random: Random, depth: int) -> JsonObject:
    return {name: _value(random, depth) for name in random.sample(_FIELDS, random.choice((1, 1, 2, 4)))}


def _template(random: Random) -> JsonObject:
    container = {"name": _text(random), **_object(random, 1)}
    return random.choice(
        (
            {},
            {"metadata": _object(random, 1), "spec": {"containers": [{"name": "a"}]}},
            {"spec": {"containers": [container], **_object(random, 1)}},
            _object(random, 3),
        )
    )


def _config_map(random: Random) -> JsonObject:
    spec: JsonObject = {"name": _text(random), "data": {_text(random): _text(random)}}
    if random.random() < 0.5:
        spec |= {"labels": {_text(random): _text(random)}, "annotations": {_text(random): _text(random)}}
    return spec


def _route(random: Random, kind: str) -> JsonObject:
    metadata = random.choice(({"name": _text(random)}, {"name": "web", "namespace": "default"}, _object(random, 1)))
    service = random.choice(({"ports": [{"port": random.choice(_NUMBERS)}]}, {}, _object(random, 2)))
    return {
        "serviceMetadata": {"name": _text(random)},
        "serviceSpec": service,
        f"{kind}Metadata": metadata,
        f"{kind}Spec": _object(random, 2),
    }


def _tolerations(random: Random) -> JsonObject:
    def number() -> int:
        return random.choice(_NUMBERS)

    # No time to live: the application could be deleted before the test reads its status.
    return {
        "resourceRetainPolicy": random.choice(("Always", "OnFailure", "Never")),
        "resourceRetainDurationMillis": number(),
        "restartConfig": {
            "restartPolicy": random.choice(("Always", "OnFailure", "OnInfrastructureFailure", "Never")),
            "maxRestartAttempts": random.choice((-5, 0, 1)),
            "restartBackoffMillis": random.choice((-5, 0, 1)),
            "restartCounterResetMillis": -1,
        },
        "instanceConfig": {"initExecutors": number(), "minExecutors": number(), "maxExecutors": number()},
        "applicationTimeoutConfig": {
            "driverStartTimeoutMillis": number(),
            "forceTerminationGracePeriodMillis": number(),
            "terminationRequeuePeriodMillis": number(),
        },
    }


def _daemon(random: Random) -> JsonObject:
    stateful_set = random.choice(
        (
            {"template": _template(random), "replicas": random.choice(_NUMBERS)},
            {"volumeClaimTemplates": _value(random, 1), **_object(random, 1)},
            _object(random, 3),
        )
    )
    return {
        "serviceMetadata": _object(random, 1),
        "serviceSpec": _object(random, 2),
        "statefulSetMetadata": _object(random, 1),
        "statefulSetSpec": stateful_set,
    }
