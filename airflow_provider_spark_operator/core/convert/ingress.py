"""Services and ingresses of the driver."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import build_application_id
from .draft import Draft

_FIELD: Final = "spec.driverIngressOptions[].ingressURLFormat"
_PLACEHOLDER: Final = re.compile(r"\{\{\s*\$(appName|appNamespace|appId)\s*\}\}")
_REWRITE: Final = "nginx.ingress.kubernetes.io/rewrite-target"


def write_ingresses(draft: Draft) -> None:
    """Write a service with an ingress for each entry of `driverIngressOptions`."""
    entries = [
        entry
        for options in draft.source.get("driverIngressOptions", ())
        if (entry := _build_entry(draft, options)) is not None
    ]
    if entries:
        draft.spec["driverServiceIngressList"] = entries


def _build_entry(draft: Draft, options: Mapping[str, Any]) -> JsonObject | None:
    port = options.get("servicePort")
    if port is None:
        draft.refuse(
            "spec.driverIngressOptions[].servicePort", "is required: without it, Kubeflow's operator refuses the entry"
        )
        return None
    if not draft.name:
        reason = "is required, because the names of the services in driverIngressOptions begin with it"
        draft.refuse("metadata.name", reason)
        return None
    service = f"{draft.name}-driver-{port}"
    name = options.get("servicePortName") or f"driver-ing-{port}"
    url = options.get("ingressURLFormat", "")
    return {
        "serviceMetadata": _build_metadata(service, options, "service"),
        "serviceSpec": {
            "type": options.get("serviceType", "ClusterIP"),
            "ports": [{"name": name, "port": port, "targetPort": port}],
        },
        **_build_ingress(draft, f"{draft.name}-ing-{port}", service, url, options),
    }


def _build_ingress(draft: Draft, name: str, service: str, url: str, options: Mapping[str, Any]) -> JsonObject:
    metadata = _build_metadata(name, options, "ingress")
    port = options["servicePort"]
    backend = {"service": {"name": service, "port": {"number": port}}}
    if not url:
        reason = (
            "operators of spark.apache.org create an ingress for every entry. Without ingressURLFormat, it has the "
            f"path /driver-{port} and no host: set the host, or replace the entry with your own service"
        )
        draft.change("spec.driverIngressOptions[].servicePort", reason)
        return _join_ingress(metadata, "", f"/driver-{port}", backend, options)
    if "$appId" in url and draft.source.get("restartPolicy", {}).get("type", "Never") != "Never":
        draft.change(
            _FIELD, "$appId was replaced by the ID of the first attempt, so the URL does not fit later attempts"
        )
    elif "$appId" in url:
        draft.change(_FIELD, "$appId was replaced by the ID of the attempt, <application>-0")
    values = {
        "appName": draft.name,
        "appNamespace": draft.namespace or "default",
        "appId": build_application_id(draft.namespace or "default", draft.name, 0),
    }
    filled = _PLACEHOLDER.sub(lambda match: values[match[1]], url)
    parts = urlsplit(filled if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", filled) else f"http://{filled}")
    path = parts.path
    if path not in ("", "/"):
        path = f"{path}(/|$)(.*)"
        metadata["annotations"] = {**metadata.get("annotations", {}), _REWRITE: "/$2"}
    return _join_ingress(metadata, parts.netloc, path or "/", backend, options)


def _join_ingress(
    metadata: JsonObject, host: str, path: str, backend: JsonObject, options: Mapping[str, Any]
) -> JsonObject:
    rule: JsonObject = {"http": {"paths": [{"path": path, "pathType": "ImplementationSpecific", "backend": backend}]}}
    spec: JsonObject = {"rules": [{"host": host, **rule} if host else rule]}
    if options.get("ingressTLS"):
        spec["tls"] = options["ingressTLS"]
    return {"ingressMetadata": metadata, "ingressSpec": spec}


def _build_metadata(name: str, options: Mapping[str, Any], kind: str) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if kind == "service" and options.get("serviceLabels"):
        metadata["labels"] = options["serviceLabels"]
    if options.get(f"{kind}Annotations"):
        metadata["annotations"] = options[f"{kind}Annotations"]
    return metadata
