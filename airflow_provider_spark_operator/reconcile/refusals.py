"""Which of the API's errors would be the same next time."""

from airflow_provider_spark_operator.kube.errors import KubeError

# Refused like any invalid object, but with status 500: server-side apply of a field that the kind does not have, and
# objects larger than etcd's limit.
_FINAL_MESSAGES = ("failed to create typed patch object", "etcdserver: request is too large", "larger than max")
_CONTENT = frozenset({400, 413, 415, 422})

# All others (401, 408, 409, 410, 429, 5xx, no answer at all) may pass.
_REFUSALS = frozenset({400, 403, 404, 405, 406, 413, 415, 422})


def is_refusal(error: KubeError) -> bool:
    """Whether the API has understood what was asked, and will not do it."""
    return error.status in _REFUSALS or _names_final_cause(error)


def is_refused_content(error: KubeError) -> bool:
    """Whether the API refuses what was sent, whatever the permissions and whatever exists."""
    return error.status in _CONTENT or _names_final_cause(error)


def _names_final_cause(error: KubeError) -> bool:
    return any(message in error.message for message in _FINAL_MESSAGES)
