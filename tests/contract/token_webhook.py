"""The authentication webhook of a cloud's API server: it decides which bearer tokens the API server accepts."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import yaml

from tests.hooks.clouds.loopback import Answer, Asked, serve

# Returns the owner of a token. None if the cloud has not issued the token.
Identify: TypeAlias = Callable[[str], str | None]


@dataclass
class TokenWebhook:
    """Accepts the tokens of a cloud for some time.

    Attributes:
        identify: Returns the identity of a token.
        lifetime: For how many seconds a token is accepted after it was first used.
        used: When each token was first used.
        rejected: The tokens of the cloud that were rejected.
    """

    identify: Identify
    lifetime: float = 900.0
    used: dict[str, float] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Answer:
        """Answer a TokenReview of the API server."""
        review = json.loads(asked.body)
        user = self._review(review["spec"]["token"])
        status = {"authenticated": True, "user": {"username": user}} if user else {"authenticated": False}
        return Answer({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status})

    def revoke(self) -> None:
        """Reject all tokens that were used until now."""
        with self._lock:
            self.used = dict.fromkeys(self.used, 0.0)

    def _review(self, token: str) -> str | None:
        user = self.identify(token)
        with self._lock:
            if user is None:
                return None
            if time.monotonic() - self.used.setdefault(token, time.monotonic()) > self.lifetime:
                self.rejected.append(token)
                return None
            return user


@contextmanager
def serve_webhook(webhook: TokenWebhook, folder: Path) -> Iterator[list[str]]:
    """Serve a webhook until the end of the block. Return the arguments of the API server that use the webhook."""
    with serve(webhook.answer) as url:
        file = folder / "webhook.yaml"
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "webhook", "cluster": {"server": url}}],
                    "users": [{"name": "api-server", "user": {}}],
                    "contexts": [{"name": "x", "context": {"cluster": "webhook", "user": "api-server"}}],
                    "current-context": "x",
                }
            )
        )
        yield [
            f"--authentication-token-webhook-config-file={file}",
            "--authentication-token-webhook-version=v1",
            "--authentication-token-webhook-cache-ttl=100ms",
        ]
