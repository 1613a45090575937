"""The fields of Kubeflow's resources, and what becomes of each one.

The table is the source of the report and of the table in the documentation. A conversion step replaces the entry of a
field if the outcome depends on the document.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from .conversion import Outcome

EXACT, CHANGED, DROPPED = Outcome.EXACT, Outcome.CHANGED, Outcome.DROPPED
ROLES: Final = ("driver", "executor")


class Shape(StrEnum):
    """The type of a field in Kubeflow's definition."""

    TEXT = "a string"
    INTEGER = "an integer"
    BOOLEAN = "a boolean"
    TEXTS = "a list of strings"
    TEXT_MAP = "an object with string values"
    OBJECT = "an object"
    OBJECTS = "a list of objects"


TEXT, INTEGER, BOOLEAN, TEXTS, TEXT_MAP, OBJECT, OBJECTS = Shape


@dataclass(frozen=True)
class Field:
    """A field of Kubeflow's definition.

    Attributes:
        path: The field. `[]` stands for the entries of a list.
        shape: Its type.
        target: The field of the converted resource, or a property of its `sparkConf`.
        outcome: What becomes of the field, if the document does not decide it.
        reason: What differs, and what the user can do.
    """

    path: str
    shape: Shape
    target: str
    outcome: Outcome = EXACT
    reason: str = ""


_LINEAR: Final = (
    "the new operator waits the same time before each attempt; "
    "Kubeflow's operator multiplies the time by the number of attempts"
)
_COUNTS: Final = "the operator in the cluster counts only consecutive failures; Kubeflow's operator counts all failures"
_INGRESS: Final = "driverServiceIngressList"
_NO_EFFECT: Final = "Kubeflow's operator does not read it"
_UI: Final = (
    "the operator in the cluster creates no service or ingress for the Spark UI. Use the service "
    "<application id>-driver-svc with port 4040, or add an entry to driverServiceIngressList"
)
_SERVER_FIELD: Final = "the API server sets it"

_APPLICATION: Final = (
    Field("spec.type", TEXT, "pyFiles, sparkRFiles or jars"),
    Field("spec.sparkVersion", TEXT, "runtimeVersions.sparkVersion"),
    Field("spec.mode", TEXT, "deploymentMode (ClusterMode by default)"),
    Field("spec.mainApplicationFile", TEXT, "pyFiles, sparkRFiles or jars"),
    Field("spec.mainClass", TEXT, "mainClass"),
    Field("spec.arguments", TEXTS, "driverArgs"),
    Field("spec.proxyUser", TEXT, "proxyUser"),
    Field("spec.image", TEXT, "spark.kubernetes.container.image"),
    Field("spec.imagePullPolicy", TEXT, "spark.kubernetes.container.image.pullPolicy"),
    Field("spec.imagePullSecrets", TEXTS, "spark.kubernetes.container.image.pullSecrets"),
    Field("spec.sparkConf", TEXT_MAP, "sparkConf"),
    Field("spec.hadoopConf", TEXT_MAP, "spark.hadoop.KEY"),
    Field(
        "spec.sparkConfigMap",
        TEXT,
        "volumes and mounts in the pod templates of driver and executors",
        CHANGED,
        "the files are in /etc/spark/conf, but Spark sets SPARK_CONF_DIR to its own folder. Give the path of "
        "each file in a property, for example -Dlog4j2.configurationFile=/etc/spark/conf/log4j2.properties",
    ),
    Field(
        "spec.hadoopConfigMap", TEXT, "volumes, mounts and HADOOP_CONF_DIR in the pod templates of driver and executors"
    ),
    Field("spec.volumes", OBJECTS, "podTemplateSpec.spec.volumes of the pods that mount them"),
    Field("spec.nodeSelector", TEXT_MAP, "spark.kubernetes.node.selector.KEY"),
    Field("spec.deps.jars", TEXTS, "spark.jars"),
    Field("spec.deps.files", TEXTS, "spark.files"),
    Field("spec.deps.pyFiles", TEXTS, "pyFiles, after the script"),
    Field("spec.deps.archives", TEXTS, "spark.archives"),
    Field(
        "spec.deps.packages",
        TEXTS,
        "spark.jars.packages",
        CHANGED,
        "the driver resolves the packages, in the folder spark.jars.ivy. Kubeflow's operator resolves them in its own "
        "pod, before it creates the driver",
    ),
    Field("spec.deps.excludePackages", TEXTS, "spark.jars.excludes"),
    Field("spec.deps.repositories", TEXTS, "spark.jars.repositories"),
    Field("spec.restartPolicy.type", TEXT, "applicationTolerations.restartConfig.restartPolicy"),
    Field(
        "spec.restartPolicy.onFailureRetries",
        INTEGER,
        "applicationTolerations.restartConfig.maxRestartOnFailure",
        CHANGED,
        _COUNTS,
    ),
    Field(
        "spec.restartPolicy.onSubmissionFailureRetries",
        INTEGER,
        "applicationTolerations.restartConfig.maxRestartOnSchedulingFailure",
        CHANGED,
        _COUNTS,
    ),
    Field(
        "spec.restartPolicy.onFailureRetryInterval",
        INTEGER,
        "applicationTolerations.restartConfig.restartBackoffMillisForFailure",
        CHANGED,
        _LINEAR,
    ),
    Field(
        "spec.restartPolicy.onSubmissionFailureRetryInterval",
        INTEGER,
        "applicationTolerations.restartConfig.restartBackoffMillisForSchedulingFailure",
        CHANGED,
        _LINEAR,
    ),
    Field("spec.failureRetries", INTEGER, "", DROPPED, _NO_EFFECT),
    Field("spec.retryInterval", INTEGER, "", DROPPED, _NO_EFFECT),
    Field("spec.timeToLiveSeconds", INTEGER, "applicationTolerations.ttlAfterStopMillis"),
    Field(
        "spec.suspend",
        BOOLEAN,
        "suspend",
        CHANGED,
        "the Apache operator 1.1.0 and the controller of this package support it; older releases of the Apache "
        "operator ignore it",
    ),
    Field("spec.pythonVersion", TEXT, "", DROPPED, "Spark 3 and later ignore it"),
    Field("spec.memoryOverheadFactor", TEXT, "spark.kubernetes.memoryOverheadFactor"),
    Field("spec.dynamicAllocation.enabled", BOOLEAN, "spark.dynamicAllocation.enabled"),
    Field("spec.dynamicAllocation.initialExecutors", INTEGER, "spark.dynamicAllocation.initialExecutors"),
    Field("spec.dynamicAllocation.minExecutors", INTEGER, "spark.dynamicAllocation.minExecutors"),
    Field("spec.dynamicAllocation.maxExecutors", INTEGER, "spark.dynamicAllocation.maxExecutors"),
    Field("spec.dynamicAllocation.shuffleTrackingEnabled", BOOLEAN, "spark.dynamicAllocation.shuffleTracking.enabled"),
    Field("spec.dynamicAllocation.shuffleTrackingTimeout", INTEGER, "spark.dynamicAllocation.shuffleTracking.timeout"),
    Field("spec.monitoring.exposeDriverMetrics", BOOLEAN, "annotations, Java agent, port and mount of the driver"),
    Field("spec.monitoring.exposeExecutorMetrics", BOOLEAN, "annotations, Java agent, port and mount of the executors"),
    Field("spec.monitoring.metricsProperties", TEXT, "configMapSpecs"),
    Field("spec.monitoring.metricsPropertiesFile", TEXT, "spark.metrics.conf"),
    Field("spec.monitoring.prometheus.jmxExporterJar", TEXT, "spark.ROLE.extraJavaOptions"),
    Field("spec.monitoring.prometheus.port", INTEGER, "spark.ROLE.extraJavaOptions, ports and annotations"),
    Field("spec.monitoring.prometheus.portName", TEXT, "the name of the port in podTemplateSpec"),
    Field("spec.monitoring.prometheus.configFile", TEXT, "spark.ROLE.extraJavaOptions"),
    Field("spec.monitoring.prometheus.configuration", TEXT, "configMapSpecs"),
    Field(
        "spec.batchScheduler",
        TEXT,
        "spark.kubernetes.scheduler.name",
        CHANGED,
        "Kubeflow's operator computes the resources of the PodGroup from the pods. Spark uses only the resources in "
        "the PodGroup template",
    ),
    Field(
        "spec.batchSchedulerOptions.queue",
        TEXT,
        "Volcano: spec.queue of the PodGroup. YuniKorn: the label `queue` of the pods",
    ),
    Field("spec.batchSchedulerOptions.priorityClassName", TEXT, "Volcano: the PodGroup"),
    Field("spec.batchSchedulerOptions.resources", OBJECT, "Volcano: the PodGroup"),
    *(
        Field(f"spec.sparkUIOptions.{name}", shape, "", DROPPED, _UI)
        for name, shape in (
            ("servicePort", INTEGER),
            ("servicePortName", TEXT),
            ("serviceType", TEXT),
            ("serviceAnnotations", TEXT_MAP),
            ("serviceLabels", TEXT_MAP),
            ("ingressAnnotations", TEXT_MAP),
            ("ingressTLS", OBJECTS),
        )
    ),
    Field("spec.driverIngressOptions[].servicePort", INTEGER, f"{_INGRESS}[].serviceSpec.ports"),
    Field("spec.driverIngressOptions[].servicePortName", TEXT, f"{_INGRESS}[].serviceSpec.ports"),
    Field("spec.driverIngressOptions[].serviceType", TEXT, f"{_INGRESS}[].serviceSpec.type"),
    Field("spec.driverIngressOptions[].serviceAnnotations", TEXT_MAP, f"{_INGRESS}[].serviceMetadata.annotations"),
    Field("spec.driverIngressOptions[].serviceLabels", TEXT_MAP, f"{_INGRESS}[].serviceMetadata.labels"),
    Field(
        "spec.driverIngressOptions[].ingressURLFormat",
        TEXT,
        f"{_INGRESS}[].ingressSpec.rules",
        CHANGED,
        "the manifest does not contain the ingress class and the default annotations and TLS settings. They are "
        "options of Kubeflow's operator: copy them to this entry of driverServiceIngressList",
    ),
    Field("spec.driverIngressOptions[].ingressAnnotations", TEXT_MAP, f"{_INGRESS}[].ingressMetadata.annotations"),
    Field("spec.driverIngressOptions[].ingressTLS", OBJECTS, f"{_INGRESS}[].ingressSpec.tls"),
    Field(
        "spec.driverPodDisruptionBudget",
        BOOLEAN,
        "",
        DROPPED,
        "the operator in the cluster creates no disruption budget for drivers: create a PodDisruptionBudget that "
        "selects the label spark-role=driver",
    ),
)

_POD: Final = (
    Field("spec.ROLE.template", OBJECT, "ROLESpec.podTemplateSpec"),
    Field("spec.ROLE.cores", INTEGER, "spark.ROLE.cores"),
    Field("spec.ROLE.coreRequest", TEXT, "spark.kubernetes.ROLE.request.cores"),
    Field("spec.ROLE.coreLimit", TEXT, "spark.kubernetes.ROLE.limit.cores"),
    Field("spec.ROLE.memory", TEXT, "spark.ROLE.memory"),
    Field("spec.ROLE.memoryOverhead", TEXT, "spark.ROLE.memoryOverhead"),
    Field(
        "spec.ROLE.memoryLimit",
        TEXT,
        "",
        DROPPED,
        "Spark sets the memory limit to the memory request. If the pods need more, increase memory or memoryOverhead",
    ),
    Field("spec.ROLE.gpu.name", TEXT, "resources.limits of the container of Spark"),
    Field("spec.ROLE.gpu.quantity", INTEGER, "resources.limits of the container of Spark"),
    Field("spec.ROLE.image", TEXT, "spark.kubernetes.ROLE.container.image"),
    Field("spec.ROLE.env", OBJECTS, "env of the container of Spark"),
    Field("spec.ROLE.envFrom", OBJECTS, "envFrom of the container of Spark"),
    Field("spec.ROLE.envVars", TEXT_MAP, "spark.kubernetes.driverEnv.NAME, spark.executorEnv.NAME"),
    Field("spec.ROLE.envSecretKeyRefs", OBJECT, "spark.kubernetes.ROLE.secretKeyRef.NAME"),
    Field("spec.ROLE.configMaps[].name", TEXT, "volumes of podTemplateSpec"),
    Field("spec.ROLE.configMaps[].path", TEXT, "volumeMounts of the container of Spark"),
    Field("spec.ROLE.secrets[].name", TEXT, "spark.kubernetes.ROLE.secrets.NAME"),
    Field("spec.ROLE.secrets[].path", TEXT, "spark.kubernetes.ROLE.secrets.NAME"),
    Field("spec.ROLE.secrets[].secretType", TEXT, "GOOGLE_APPLICATION_CREDENTIALS or HADOOP_TOKEN_FILE_LOCATION"),
    Field("spec.ROLE.labels", TEXT_MAP, "spark.kubernetes.ROLE.label.NAME"),
    Field("spec.ROLE.annotations", TEXT_MAP, "spark.kubernetes.ROLE.annotation.NAME"),
    Field("spec.ROLE.volumeMounts", OBJECTS, "volumeMounts of the container of Spark"),
    Field("spec.ROLE.affinity", OBJECT, "podTemplateSpec.spec.affinity"),
    Field("spec.ROLE.tolerations", OBJECTS, "podTemplateSpec.spec.tolerations"),
    Field("spec.ROLE.nodeSelector", TEXT_MAP, "spark.kubernetes.ROLE.node.selector.KEY"),
    Field("spec.ROLE.schedulerName", TEXT, "spark.kubernetes.ROLE.scheduler.name"),
    Field("spec.ROLE.priorityClassName", TEXT, "podTemplateSpec.spec.priorityClassName"),
    Field("spec.ROLE.serviceAccount", TEXT, "spark.kubernetes.authenticate.ROLE.serviceAccountName"),
    Field("spec.ROLE.javaOptions", TEXT, "spark.ROLE.extraJavaOptions"),
    Field("spec.ROLE.podSecurityContext", OBJECT, "podTemplateSpec.spec.securityContext"),
    Field("spec.ROLE.securityContext", OBJECT, "securityContext of the container of Spark"),
    Field("spec.ROLE.lifecycle", OBJECT, "lifecycle of the container of Spark"),
    Field("spec.ROLE.dnsConfig", OBJECT, "podTemplateSpec.spec.dnsConfig"),
    Field("spec.ROLE.sidecars", OBJECTS, "podTemplateSpec.spec.containers"),
    Field("spec.ROLE.initContainers", OBJECTS, "podTemplateSpec.spec.initContainers"),
    Field("spec.ROLE.hostNetwork", BOOLEAN, "podTemplateSpec.spec.hostNetwork and dnsPolicy"),
    Field("spec.ROLE.shareProcessNamespace", BOOLEAN, "podTemplateSpec.spec.shareProcessNamespace"),
    Field("spec.ROLE.hostAliases", OBJECTS, "podTemplateSpec.spec.hostAliases"),
    Field("spec.ROLE.terminationGracePeriodSeconds", INTEGER, "podTemplateSpec.spec.terminationGracePeriodSeconds"),
    Field("spec.ROLE.ports[].name", TEXT, "ports of the container of Spark"),
    Field("spec.ROLE.ports[].protocol", TEXT, "ports of the container of Spark"),
    Field("spec.ROLE.ports[].containerPort", INTEGER, "ports of the container of Spark"),
)

_ONE_ROLE: Final = (
    Field(
        "spec.driver.podName",
        TEXT,
        "spark.kubernetes.driver.pod.name",
        CHANGED,
        "all attempts use this name. Without it, the pods are named <application>-0-driver, <application>-1-driver "
        "and so on",
    ),
    Field("spec.driver.kubernetesMaster", TEXT, "spark.kubernetes.driver.master"),
    Field("spec.driver.serviceLabels", TEXT_MAP, "spark.kubernetes.driver.service.label.NAME"),
    Field("spec.driver.serviceAnnotations", TEXT_MAP, "spark.kubernetes.driver.service.annotation.NAME"),
    Field("spec.executor.instances", INTEGER, "spark.executor.instances"),
    Field("spec.executor.deleteOnTermination", BOOLEAN, "spark.kubernetes.executor.deleteOnTermination"),
)

_METADATA: Final = (
    Field("metadata.name", TEXT, "metadata.name, spark.app.name"),
    Field("metadata.namespace", TEXT, "metadata.namespace"),
    Field("metadata.generateName", TEXT, "metadata.generateName"),
    Field("metadata.labels", TEXT_MAP, "metadata.labels, spark.kubernetes.ROLE.label.NAME"),
    Field("metadata.annotations", TEXT_MAP, "metadata.annotations"),
    Field("metadata.finalizers", TEXTS, "", DROPPED, "the old controllers have set them"),
    Field("metadata.ownerReferences", OBJECTS, "", DROPPED, "the owner reference applies only to the old resource"),
    *(
        Field(f"metadata.{name}", shape, "", DROPPED, _SERVER_FIELD)
        for name, shape in (
            ("creationTimestamp", TEXT),
            ("deletionTimestamp", TEXT),
            ("deletionGracePeriodSeconds", INTEGER),
            ("generation", INTEGER),
            ("managedFields", OBJECTS),
            ("resourceVersion", TEXT),
            ("selfLink", TEXT),
            ("uid", TEXT),
        )
    ),
)
_STATUS: Final = Field("status", OBJECT, "", DROPPED, "the operator writes it")

_SCHEDULE: Final = (
    Field("spec.schedule", TEXT, "schedule of the DAG"),
    Field("spec.timeZone", TEXT, "timezone of the schedule"),
    Field(
        "spec.suspend",
        BOOLEAN,
        "is_paused_upon_creation",
        CHANGED,
        "it takes effect only when the DAG is first added. To suspend or resume the schedule later, pause or unpause "
        "the DAG in Airflow",
    ),
    Field("spec.concurrencyPolicy", TEXT, "max_active_runs"),
    *(
        Field(
            f"spec.{name}",
            INTEGER,
            "",
            DROPPED,
            "Airflow keeps the runs. The parameter ttl of the operator says when an application is deleted",
        )
        for name in ("successfulRunHistoryLimit", "failedRunHistoryLimit")
    ),
)


def _expand(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        for role in ROLES:
            path, target = (text.replace("ROLE", role) for text in (field.path, field.target))
            if field.path == "spec.ROLE.envVars":
                target = "spark.kubernetes.driverEnv.NAME" if role == "driver" else "spark.executorEnv.NAME"
            yield replace(field, path=path, target=target)


def _index(fields: Iterator[Field]) -> Mapping[str, Field]:
    return {field.path: field for field in fields}


APPLICATION_FIELDS: Final = _index(iter((*_METADATA, *_APPLICATION, *_expand(_POD), *_ONE_ROLE, _STATUS)))
"""The fields of a SparkApplication by path."""

SCHEDULE_FIELDS: Final = _index(
    iter(
        (
            *_METADATA,
            *_SCHEDULE,
            *(
                replace(field, path=field.path.replace("spec.", "spec.template.", 1))
                for field in (*_APPLICATION, *_expand(_POD), *_ONE_ROLE)
            ),
            _STATUS,
        )
    )
)
"""The fields of a ScheduledSparkApplication by path."""
