"""The validating admission webhook: an HTTPS server in the controller, with a certificate that is renewed.

The certificate's DNS names are taken from the ValidatingWebhookConfiguration, and its CA bundle is written there.
A failure never stops the controller, which does not need the webhook. Each process has its own key, which never leaves
it; the bundle holds the certificates of all running processes.
"""

import asyncio
import base64
import binascii
import logging
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import GROUP
from ..core.kubernetes.problems import Problem
from ..core.validation.validate import validate_without_status
from ..kube.bounded_json import read_json
from ..kube.client import KubeClient
from ..kube.errors import Conflict, KubeError
from ..kube.resources import VALIDATING_WEBHOOK_CONFIGURATIONS
from .objects.clock import utc_now
from .serving.http_server import EVERYWHERE, listen

logger = logging.getLogger(__name__)

PATH = "/validate"
# The API server stores objects of up to 1.5 MiB. A review contains the new and the old object, and the user.
_LARGEST_REVIEW = (3 << 20) + (1 << 18)
# The objects of a review are in its request.
_LEVEL = 2
_PAUSE = 60.0
_PAUSE_AFTER_CONFLICT = 1.0
LIFETIME = timedelta(days=30)
RENEWED_AFTER = timedelta(days=20)
_CLOCK_SKEW = timedelta(hours=1)
# A process that restarts repeatedly must not grow the bundle. A running process adds its certificate again.
_MAX_IN_BUNDLE = 16


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key.

    Attributes:
        hosts: The names and addresses that it is valid for.
        text: The certificate, as PEM.
        key: The private key, as PEM; never shown.
        renewed_at: The time at which it must be replaced.
    """

    hosts: frozenset[str]
    text: str
    key: bytes = field(repr=False)
    renewed_at: datetime

    def load_into(self, context: ssl.SSLContext) -> None:
        """Use the certificate for new connections of the server."""
        # The standard library reads certificates from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "webhook.pem"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.key + self.text.encode())
            context.load_cert_chain(path)


@asynccontextmanager
async def serve_webhook(
    port: int,
    client: KubeClient,
    configuration: str,
    *,
    address: str = EVERYWHERE,
    pause: float = _PAUSE,
    now: Callable[[], datetime] = utc_now,
) -> AsyncIterator[int]:
    """Serve admission reviews while the body runs, and update `caBundle`; yield the port.

    Args:
        port: The port; 0 for a free port.
        client: The client of the API, with permission to get and patch the configuration.
        configuration: The name of the ValidatingWebhookConfiguration.
        address: The IP address of an interface, or `EVERYWHERE`.
        pause: The seconds between two checks of the configuration.
        now: The clock, in UTC.

    Raises:
        OSError: The port is in use or not permitted, or the address belongs to no interface.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    application = web.Application(client_max_size=_LARGEST_REVIEW)
    application.router.add_post(PATH, _answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listen(address, port), ssl_context=context).start()
        rotation = asyncio.create_task(_CertificateRotation(client, configuration, context, now).run(pause))
        try:
            yield int(runner.addresses[0][1])
        finally:
            rotation.cancel()
            with suppress(asyncio.CancelledError):
                await rotation
    finally:
        await runner.cleanup()


async def _answer(request: web.Request) -> web.Response:
    try:
        return web.json_response(review(await read_json(await request.read(), _LEVEL)))
    except ValueError:
        return web.Response(status=400, text="the request body must be JSON\n")
    except NotAReview as error:
        return web.Response(status=400, text=f"{error}\n")


@dataclass
class _CertificateRotation:
    """Renews the certificate of the server, so that API servers always trust it.

    A certificate is published first. It is used from the next check on, when every API server knows it. Only the
    first certificate is used at once.

    Attributes:
        client: The client of the API.
        configuration: The name of the ValidatingWebhookConfiguration.
        context: The TLS context of the server.
        now: The clock, in UTC.
        current: The certificate that the server uses.
        next: The certificate that replaces it.
        is_published: Whether the configuration has `next`.
    """

    client: KubeClient
    configuration: str
    context: ssl.SSLContext
    now: Callable[[], datetime]
    current: Certificate | None = None
    next: Certificate | None = None
    is_published: bool = False

    async def run(self, pause: float) -> None:
        """Renew the certificate until cancelled."""
        while True:
            try:
                await self._renew_once()
                seconds = pause
            except Conflict:
                seconds = min(pause, _PAUSE_AFTER_CONFLICT)  # another replica was faster
            except KubeError as error:
                logger.warning("could not publish the certificate of the webhook: %s; retrying in %g s", error, pause)
                seconds = pause
            except Exception:
                logger.exception("could not renew the certificate of the webhook; retrying in %g s", pause)
                seconds = pause
            await asyncio.sleep(seconds)

    async def _renew_once(self) -> None:
        document = await self.client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, self.configuration, None)
        hosts = frozenset(list_hosts(document))
        if not hosts:
            logger.warning(
                "ValidatingWebhookConfiguration %s has no webhooks: no resource is validated", self.configuration
            )
            return
        if self.next is not None and self.is_published:
            self._use(self.next)
        newest = self.next or self.current
        if newest is None or newest.hosts != hosts or self.now() >= newest.renewed_at:
            self.next, self.is_published = issue(hosts, self.now()), False
        await self._publish(document)
        self.is_published = True
        if self.current is None and self.next is not None:
            self._use(self.next)

    def _use(self, certificate: Certificate) -> None:
        certificate.load_into(self.context)
        self.current, self.next = certificate, None
        hosts = ", ".join(sorted(certificate.hosts))
        logger.info("new certificate of the webhook for %s; renewal at %s", hosts, certificate.renewed_at)

    async def _publish(self, document: JsonObject) -> None:
        wanted = [certificate for certificate in (self.current, self.next) if certificate is not None]
        webhooks = [_set_bundle(webhook, wanted, self.now()) for webhook in document["webhooks"]]
        if webhooks == document["webhooks"]:
            return
        metadata = {"resourceVersion": document["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "webhooks": webhooks}
        await self.client.patch(VALIDATING_WEBHOOK_CONFIGURATIONS, self.configuration, None, patch)


def list_hosts(configuration: Mapping[str, Any]) -> list[str]:
    """Return the names and addresses by which the API server calls the webhooks of a configuration."""
    hosts = []
    for webhook in configuration.get("webhooks") or ():
        access = webhook["clientConfig"]
        if service := access.get("service"):
            hosts.append(f"{service['name']}.{service['namespace']}.svc")
        elif host := urlsplit(access.get("url", "")).hostname:
            hosts.append(host)
    return hosts


def _set_bundle(webhook: JsonObject, wanted: list[Certificate], now: datetime) -> JsonObject:
    access = webhook["clientConfig"]
    return {**webhook, "clientConfig": {**access, "caBundle": extend_bundle(access.get("caBundle") or "", wanted, now)}}


API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_UNPROCESSABLE = 422


class NotAReview(Exception):
    """The request is not an AdmissionReview of a supported version; str() is one sentence."""


def review(document: object) -> JsonObject:
    """Answer one review.

    Only new resources and changed specs are checked. It must be possible to label, finalize and delete an invalid
    resource that is older than the webhook. A problem that operators tolerate leads to a warning only.

    Raises:
        NotAReview: The document is not a review that can be answered.
    """
    request = _read_request(document)
    problems = validate_without_status(request.get("object")) if _must_be_checked(request) else []
    refused = [problem for problem in problems if problem.is_refused]
    response: JsonObject = {"uid": request["uid"], "allowed": not refused}
    if refused:
        response["status"] = _build_refusal(request, refused)
    if warnings := [str(problem) for problem in problems if not problem.is_refused]:
        response["warnings"] = warnings
    return {"apiVersion": API_VERSION, "kind": _KIND, "response": response}


def _read_request(document: object) -> Mapping[str, Any]:
    if not isinstance(document, Mapping) or document.get("kind") != _KIND:
        raise NotAReview(f"the request body must be an {_KIND}")
    if document.get("apiVersion") != API_VERSION:
        raise NotAReview(f"the {_KIND} must have apiVersion {API_VERSION}. Set admissionReviewVersions to [v1]")
    request = document.get("request")
    if not isinstance(request, Mapping) or not isinstance(request.get("uid"), str):
        raise NotAReview(f"the {_KIND} must have a request with a uid")
    return request


def _must_be_checked(request: Mapping[str, Any]) -> bool:
    match request.get("operation"):
        case "CREATE":
            return True
        case "UPDATE":
            new, old = _get_object(request, "object"), _get_object(request, "oldObject")
            metadata = new.get("metadata")
            is_being_deleted = isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))
            return not is_being_deleted and new.get("spec") != old.get("spec")
    return False


def _get_object(request: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    document = request.get(name)
    return document if isinstance(document, Mapping) else {}


def _build_refusal(request: Mapping[str, Any], problems: Sequence[Problem]) -> JsonObject:
    """Build the Status for the client; kubectl shows the causes, other clients the message."""
    document = _get_object(request, "object")
    causes = [
        {"reason": "FieldValueInvalid", "field": problem.path, "message": problem.message} for problem in problems
    ]
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return {
        "status": "Failure",
        "code": _UNPROCESSABLE,
        "reason": "Invalid",
        "message": "; ".join(str(problem) for problem in problems),
        "details": {"group": GROUP, "kind": document.get("kind"), "name": name or "", "causes": causes},
    }


def issue(hosts: Iterable[str], now: datetime) -> Certificate:
    """Create a certificate for `hosts` that is valid for `LIFETIME` from `now` (UTC)."""
    names = frozenset(hosts)
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # The subject is unique, so that the certificate of another process is never taken for the issuer.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"spark-operator webhook {serial:x}"[:64])])
    alternatives = [_build_alternative_name(name) for name in sorted(names)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(names, _format_pem(certificate), private, now + RENEWED_AFTER)


def extend_bundle(bundle: str, wanted: Iterable[Certificate], now: datetime) -> str:
    """Build the `caBundle` (base64 of PEM) with `wanted` and the valid certificates of other processes.

    The same text is returned if nothing is missing and nothing has expired.
    """
    texts = [certificate.text for certificate in wanted]
    parsed = _parse_bundle(bundle)
    valid = sorted(
        (each for each in parsed if each.not_valid_after_utc > now), key=lambda each: each.not_valid_before_utc
    )
    others = [text for each in valid if (text := _format_pem(each)) not in texts]
    kept = others[-(_MAX_IN_BUNDLE - len(texts)) :]
    known = {_format_pem(each) for each in parsed}
    if known == {*texts, *kept}:
        return bundle
    return base64.b64encode("".join((*kept, *texts)).encode()).decode()


def _parse_bundle(bundle: str) -> list[x509.Certificate]:
    """Parse a bundle; an invalid bundle counts as empty."""
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
    except (ValueError, binascii.Error):
        return []


def _build_alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _format_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
