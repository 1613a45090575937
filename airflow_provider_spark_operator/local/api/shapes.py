"""The form of built-in documents, as far as the local cluster reads them: what is text, a list, an object.

The real API server decodes into Go types and refuses what does not fit; everything after it relies on that.
"""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.local.api import kinds, schema
from airflow_provider_spark_operator.local.api.documents import JsonObject
from airflow_provider_spark_operator.local.api.registry import ServedKind
from airflow_provider_spark_operator.local.api.status import bad_request

Shape = Mapping[str, Any]


def _object(**properties: Shape) -> Shape:
    return {"type": "object", "properties": properties}


def _list(items: Shape) -> Shape:
    return {"type": "array", "items": items}


def _map(values: Shape) -> Shape:
    return {"type": "object", "additionalProperties": values}


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, _TEXT)


_QUANTITY = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_TEXT: Shape = {"type": "string"}
_NUMBER: Shape = {"type": "integer"}
_FLAG: Shape = {"type": "boolean"}
_OBJECT: Shape = {"type": "object"}
_QUANTITIES = _map({"x-kubernetes-int-or-string": True, "pattern": _QUANTITY})
_OWNER = _object(**_texts("apiVersion", "kind", "name", "uid"), controller=_FLAG, blockOwnerDeletion=_FLAG)
_METADATA = _object(
    **_texts("name", "generateName", "namespace", "uid", "resourceVersion"),
    labels=_map(_TEXT),
    annotations=_map(_TEXT),
    finalizers=_list(_TEXT),
    ownerReferences=_list(_OWNER),
    managedFields=_list(_OBJECT),
)
_PROBE = _object(httpGet=_OBJECT, exec=_OBJECT, tcpSocket=_OBJECT)
_VARIABLE = _object(
    **_texts("name", "value"),
    valueFrom=_object(
        fieldRef=_object(**_texts("apiVersion", "fieldPath")),
        resourceFieldRef=_object(**_texts("containerName", "resource")),
        configMapKeyRef=_object(**_texts("name", "key"), optional=_FLAG),
        secretKeyRef=_object(**_texts("name", "key"), optional=_FLAG),
    ),
)
_CONTAINER = _object(
    **_texts("name", "image", "imagePullPolicy", "workingDir", "restartPolicy"),
    command=_list(_TEXT),
    args=_list(_TEXT),
    env=_list(_VARIABLE),
    envFrom=_list(_object(prefix=_TEXT, configMapRef=_OBJECT, secretRef=_OBJECT)),
    ports=_list(_object(**_texts("name", "protocol"), containerPort=_NUMBER)),
    resources=_object(limits=_QUANTITIES, requests=_QUANTITIES),
    volumeMounts=_list(_object(**_texts("name", "mountPath", "subPath"), readOnly=_FLAG)),
    livenessProbe=_PROBE,
    readinessProbe=_PROBE,
    startupProbe=_PROBE,
)
_ITEMS = _list(_object(**_texts("key", "path"), mode=_NUMBER))
_VOLUME = _object(
    name=_TEXT,
    configMap=_object(name=_TEXT, items=_ITEMS, optional=_FLAG, defaultMode=_NUMBER),
    secret=_object(secretName=_TEXT, items=_ITEMS, optional=_FLAG, defaultMode=_NUMBER),
    downwardAPI=_object(items=_list(_OBJECT)),
    projected=_object(sources=_list(_OBJECT)),
    emptyDir=_OBJECT,
    hostPath=_object(**_texts("path", "type")),
)
_POD_SPEC = _object(
    **_texts("nodeName", "restartPolicy", "schedulerName", "serviceAccount", "serviceAccountName"),
    terminationGracePeriodSeconds=_NUMBER,
    activeDeadlineSeconds=_NUMBER,
    containers=_list(_CONTAINER),
    initContainers=_list(_CONTAINER),
    volumes=_list(_VOLUME),
    tolerations=_list(_object(**_texts("key", "operator", "effect"))),
    readinessGates=_list(_object(conditionType=_TEXT)),
    nodeSelector=_map(_TEXT),
)
_STATE = _object(
    waiting=_object(**_texts("reason", "message")),
    running=_OBJECT,
    terminated=_object(**_texts("reason", "finishedAt"), exitCode=_NUMBER, signal=_NUMBER),
)
_CONTAINER_STATUSES = _list(_object(name=_TEXT, ready=_FLAG, restartCount=_NUMBER, state=_STATE, lastState=_STATE))
_CONDITIONS = _list(_object(**_texts("type", "status", "reason", "message")))
_POD_STATUS = _object(
    **_texts("phase", "reason", "podIP"),
    conditions=_CONDITIONS,
    containerStatuses=_CONTAINER_STATUSES,
    initContainerStatuses=_CONTAINER_STATUSES,
)
_SELECTOR = _object(matchLabels=_map(_TEXT), matchExpressions=_list(_OBJECT))
_DEFINED_VERSION = _object(
    name=_TEXT,
    served=_FLAG,
    storage=_FLAG,
    schema=_object(openAPIV3Schema=_OBJECT),
    subresources=_object(
        status=_OBJECT,
        scale={
            **_object(**_texts("specReplicasPath", "statusReplicasPath", "labelSelectorPath")),
            "required": ["specReplicasPath", "statusReplicasPath"],
        },
    ),
    additionalPrinterColumns=_list(
        {
            **_object(**_texts("name", "type", "jsonPath", "description", "format"), priority=_NUMBER),
            "required": ["name", "type", "jsonPath"],
        }
    ),
    selectableFields=_list({**_object(jsonPath=_TEXT), "required": ["jsonPath"]}),
)
_DEFINITION = _object(
    **_texts("group", "scope"),
    names=_object(**_texts("plural", "singular", "kind", "listKind"), shortNames=_list(_TEXT), categories=_list(_TEXT)),
    versions=_list(_DEFINED_VERSION),
    conversion=_object(strategy=_TEXT),
)

_SHAPES: Mapping[tuple[str, str], Mapping[str, Shape]] = {
    kinds.CONFIG_MAPS.key: {"data": _map(_TEXT), "binaryData": _map(_TEXT)},
    kinds.CUSTOM_RESOURCE_DEFINITIONS.key: {"spec": _DEFINITION},
    kinds.EVENTS.key: {
        **_texts("type", "reason", "message", "note", "reportingComponent"),
        "involvedObject": _OBJECT,
        "regarding": _OBJECT,
        "source": _OBJECT,
        "series": _OBJECT,
    },
    kinds.LEASES.key: {"spec": _object(holderIdentity=_TEXT, leaseDurationSeconds=_NUMBER)},
    kinds.NETWORK_POLICIES.key: {
        "spec": _object(podSelector=_SELECTOR, policyTypes=_list(_TEXT), ingress=_list(_OBJECT), egress=_list(_OBJECT))
    },
    kinds.NODES.key: {"status": _object(conditions=_CONDITIONS, nodeInfo=_OBJECT)},
    kinds.PERSISTENT_VOLUME_CLAIMS.key: {
        "status": _object(phase=_TEXT, capacity=_QUANTITIES, accessModes=_list(_TEXT))
    },
    kinds.PODS.key: {"spec": _POD_SPEC, "status": _POD_STATUS},
    kinds.ROLE_BINDINGS.key: {"roleRef": _OBJECT, "subjects": _list(_OBJECT)},
    kinds.CLUSTER_ROLE_BINDINGS.key: {"roleRef": _OBJECT, "subjects": _list(_OBJECT)},
    kinds.SECRETS.key: {"data": _map(_TEXT), "stringData": _map(_TEXT), "type": _TEXT},
    kinds.SERVICES.key: {
        "spec": _object(
            **_texts("type", "clusterIP", "externalName"),
            ports=_list(_object(**_texts("name", "protocol"), port=_NUMBER, nodePort=_NUMBER)),
            selector=_map(_TEXT),
        )
    },
    kinds.SERVICE_ACCOUNTS.key: {"secrets": _list(_OBJECT)},
    kinds.STATEFUL_SETS.key: {
        "spec": _object(
            replicas=_NUMBER,
            selector=_SELECTOR,
            template=_object(metadata=_METADATA, spec=_POD_SPEC),
        ),
        "status": _object(replicas=_NUMBER, readyReplicas=_NUMBER),
    },
}


_EMPTY_LISTS_COUNT = frozenset({kinds.CUSTOM_RESOURCE_DEFINITIONS.key, kinds.ROLES.key, kinds.CLUSTER_ROLES.key})


def check_shape(served: ServedKind, document: JsonObject) -> None:
    """Refuse a document whose parts are not of the types that its kind has.

    Nulls of built-in types are dropped, in place: they say nothing there.

    Raises:
        ApiStatusError: 400 with the first part that is not.
    """
    properties: dict[str, Shape] = {"metadata": _METADATA}
    _drop_nulls(document.get("metadata") if served.kind.custom else document)
    if served.kind.key in (kinds.ROLES.key, kinds.CLUSTER_ROLES.key) and not document.get("rules"):
        document["rules"] = None
    if not served.kind.custom:
        properties |= {"spec": _OBJECT, "status": _OBJECT, **_SHAPES.get(served.kind.key, {})}
    for cause in schema.violations(_object(**properties), document):
        kind = served.kind.kind
        raise bad_request(
            f'{kind} in version "{served.version}" cannot be handled as a {kind}: {cause.field}: {cause.message}'
        )
    if not served.kind.custom and served.kind.key not in _EMPTY_LISTS_COUNT:
        _drop_empty_lists(document)


def _drop_empty_lists(document: JsonObject) -> None:
    """Remove, in place, the empty lists of a document and its specification, as they are never shown."""
    for part in (document, document.get("spec")):
        if isinstance(part, dict):
            for key in [key for key, item in part.items() if item == []]:
                del part[key]


def _drop_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if item is None]:
            del value[key]
        for item in value.values():
            _drop_nulls(item)
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(item)
