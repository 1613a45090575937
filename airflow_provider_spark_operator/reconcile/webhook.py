"""The validating admission webhook: an HTTPS server beside the controller, whose certificate renews itself.

A ValidatingWebhookConfiguration says where the API server finds us; from it follows for whom the certificate has to
be, and into it goes what it is believed by. Failing to do so never stops the controller, which needs no webhook.
"""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, KubeError
from airflow_provider_spark_operator.kube.resources import VALIDATING_WEBHOOK_CONFIGURATIONS
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.serving import listen_everywhere
from airflow_provider_spark_operator.reconcile.webhook_certificate import Certificate, bundle_with, issue
from airflow_provider_spark_operator.reconcile.webhook_review import NotAReview, review

logger = logging.getLogger(__name__)

PATH = "/validate"
# An object has at most 1.5 MiB, and a review holds two of them.
_LARGEST_REVIEW = 8 * 1024 * 1024
_PAUSE = 60.0
_PAUSE_AFTER_CONFLICT = 1.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def serve_webhook(
    port: int,
    client: KubeClient,
    configuration: str,
    *,
    pause: float = _PAUSE,
    now: Callable[[], datetime] = _utc_now,
) -> AsyncIterator[int]:
    """Serve admission reviews on all interfaces, and keep the configuration's `caBundle`; give the port.

    Args:
        port: 0 for a free one.
        client: may get and patch the configuration.
        configuration: the name of the ValidatingWebhookConfiguration.
        pause: seconds between two looks at the configuration.
        now: the clock, UTC.

    Raises:
        OSError: the port is taken or not permitted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    application = web.Application(client_max_size=_LARGEST_REVIEW)
    application.router.add_post(PATH, _answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listen_everywhere(port), ssl_context=context).start()
        trust = asyncio.create_task(_Trust(client, configuration, context, now).keep(pause))
        try:
            yield int(runner.addresses[0][1])
        finally:
            trust.cancel()
            with suppress(asyncio.CancelledError):
                await trust
    finally:
        await runner.cleanup()


async def _answer(request: web.Request) -> web.Response:
    try:
        return web.json_response(review(await request.json()))
    except (json.JSONDecodeError, UnicodeDecodeError):
        return web.Response(status=400, text="JSON is wanted\n")
    except NotAReview as error:
        return web.Response(status=400, text=f"{error}\n")


@dataclass
class _Trust:
    """Sees to it that the API server believes the certificate that the server shows.

    A certificate is published first, and shown from the next look on, when every API server knows of it; only the
    first is shown at once.

    Attributes:
        client: the way to the API.
        configuration: the name of the ValidatingWebhookConfiguration.
        context: that of the server.
        now: the clock, UTC.
        shown: what the server shows.
        coming: what is to take its place.
        is_published: whether the configuration has `coming`.
    """

    client: KubeClient
    configuration: str
    context: ssl.SSLContext
    now: Callable[[], datetime]
    shown: Certificate | None = None
    coming: Certificate | None = None
    is_published: bool = False

    async def keep(self, pause: float) -> None:
        """Look after it until cancelled."""
        while True:
            try:
                await self._look()
                seconds = pause
            except Conflict:
                seconds = min(pause, _PAUSE_AFTER_CONFLICT)  # another of us was quicker
            except KubeError as error:
                logger.warning("the webhook's certificate cannot be published: %s", error)
                seconds = pause
            except Exception:
                logger.exception("the webhook's certificate cannot be looked after")
                seconds = pause
            await asyncio.sleep(seconds)

    async def _look(self) -> None:
        document = await self.client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, self.configuration, None)
        hosts = frozenset(hosts_of(document))
        if not hosts:
            logger.warning("%s names no webhook: nobody will ask", self.configuration)
            return
        if self.coming is not None and self.is_published:
            self._show(self.coming)
        newest = self.coming or self.shown
        if newest is None or newest.hosts != hosts or self.now() >= newest.renewed_at:
            self.coming, self.is_published = issue(hosts, self.now()), False
        await self._publish(document)
        self.is_published = True
        if self.shown is None and self.coming is not None:
            self._show(self.coming)

    def _show(self, certificate: Certificate) -> None:
        certificate.load_into(self.context)
        self.shown, self.coming = certificate, None
        hosts = ", ".join(sorted(certificate.hosts))
        logger.info("the webhook has a new certificate for %s, until it is renewed %s", hosts, certificate.renewed_at)

    async def _publish(self, document: JsonObject) -> None:
        wanted = [certificate for certificate in (self.shown, self.coming) if certificate is not None]
        webhooks = [_believing(webhook, wanted, self.now()) for webhook in document["webhooks"]]
        if webhooks == document["webhooks"]:
            return
        metadata = {"resourceVersion": document["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "webhooks": webhooks}
        await self.client.patch(VALIDATING_WEBHOOK_CONFIGURATIONS, self.configuration, None, patch)


def hosts_of(configuration: Mapping[str, Any]) -> list[str]:
    """The names and addresses by which the API server calls the webhooks of a configuration."""
    hosts = []
    for webhook in configuration.get("webhooks") or ():
        access = webhook["clientConfig"]
        if service := access.get("service"):
            hosts.append(f"{service['name']}.{service['namespace']}.svc")
        elif host := urlsplit(access.get("url", "")).hostname:
            hosts.append(host)
    return hosts


def _believing(webhook: JsonObject, wanted: list[Certificate], now: datetime) -> JsonObject:
    access = webhook["clientConfig"]
    return {**webhook, "clientConfig": {**access, "caBundle": bundle_with(access.get("caBundle") or "", wanted, now)}}
