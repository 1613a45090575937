"""The client of Spark Connect. Only a task that opens a session imports this module: it loads PySpark and gRPC."""

from collections.abc import Callable

from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession


def connect(address: str, token: str | None, user: str, is_alive: Callable[[], bool]) -> SparkSession:
    """Return a new session.

    Args:
        address: Host and port of the server, or of its local forwarder.
        token: The token. It is sent without TLS, which servers do not have. PySpark would reject this for its parameter
            `token` unless the host is `localhost`.
        user: The user that the server shows.
        is_alive: Returns whether the server still has its sessions. A request to a lost server is not repeated.
    """

    class WhileAlive(DefaultPolicy):  # type: ignore[misc]
        def can_retry(self, e: BaseException) -> bool:
            return bool(super().can_retry(e)) and is_alive()

    builder = DefaultChannelBuilder(f"sc://{address}")
    builder.set("user_id", user)
    if token is not None:
        builder.set("authorization", f"Bearer {token}")
    session = SparkSession.builder.channelBuilder(builder).create()
    session.client.set_retry_policies([WhileAlive()])
    return session
