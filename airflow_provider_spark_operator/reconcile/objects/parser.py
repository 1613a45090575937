"""The parser of resources, which checks their size and keeps recent applications."""

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource
from ...core.lifecycle.decisive_fields import is_large
from ...core.models.application import SparkApplication
from ...core.models.cluster import SparkCluster
from ...core.models.cluster import parse_cluster as parse_cluster_document
from ...core.models.parse import parse_application
from ...core.validation.json_values import find_json_problems

# Enough for the applications that change at the same time.
_MAX_APPLICATIONS = 500


class ApplicationParser:
    """Parses applications. A document or a spec that was parsed recently is parsed again if it has changed or is large.

    The API server raises `metadata.generation` with every change of a spec. A parsed document must not be modified.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[JsonObject, SparkApplication]] = {}

    def parse(self, resource: JsonObject) -> SparkApplication:
        """Parse an application.

        Raises:
            InvalidResource: A field is missing, of the wrong type, has an unknown value, or is nested too deeply.
        """
        metadata = resource["metadata"]
        uid, generation = metadata.get("uid"), metadata.get("generation")
        if uid is None or generation is None:
            return _parse_application(resource)
        parsed, application = self._known.pop((uid, generation), (None, None))
        if application is None:
            application = _parse_application(resource)
        elif parsed is not resource:
            application = parse_application({**resource, "spec": application.spec})
        if not is_large(resource):
            self._known[uid, generation] = resource, application
        if len(self._known) > _MAX_APPLICATIONS:
            del self._known[next(iter(self._known))]
        return application


def parse_cluster(resource: JsonObject) -> SparkCluster:
    """Parse a cluster.

    Raises:
        InvalidResource: A field is missing, of the wrong type, has an unknown value, or is nested too deeply.
    """
    _check_size(resource)
    return parse_cluster_document(resource)


def _parse_application(resource: JsonObject) -> SparkApplication:
    _check_size(resource)
    return parse_application(resource)


def _check_size(resource: JsonObject) -> None:
    # The API server stores a million values in thousands of levels.
    if problems := find_json_problems({"metadata": resource["metadata"], "spec": resource.get("spec")}):
        raise InvalidResource(problems)
