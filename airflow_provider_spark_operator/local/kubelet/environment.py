"""A container's environment and command line, as its pod describes them."""

import re
from collections.abc import Mapping

from airflow_provider_spark_operator.local.api.documents import JsonObject
from airflow_provider_spark_operator.local.kubelet.references import References

_VARIABLE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def container_environment(
    pod: JsonObject, container: JsonObject, references: References, given: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a container.

    Args:
        pod: the pod, with the addresses in its status.
        container: the container's entry in the pod's spec.
        references: where to look up what it refers to.
        given: what each container gets; the pod's own variables come over it.

    Raises:
        MissingReference: a config map, secret, key or field does not exist.
    """
    environment = dict(given)
    for source in container.get("envFrom") or ():
        environment |= _from_source(source, references)
    for entry in container.get("env") or ():
        name = str(entry["name"])
        if entry.get("valueFrom"):
            value = references.variable(entry["valueFrom"], pod, container)
            if value is not None:
                environment[name] = value
        else:
            environment[name] = expanded(str(entry.get("value") or ""), environment)
    return environment


def command_line(container: JsonObject, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The command and the arguments of a container, with references to variables replaced."""
    command = [expanded(str(word), environment) for word in container.get("command") or ()]
    arguments = [expanded(str(word), environment) for word in container.get("args") or ()]
    return command, arguments


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """A text with `$(NAME)` replaced, `$$` as `$`, and references to unknown variables as they are."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return environment.get(match[1], match.group())

    return _VARIABLE.sub(replacement, text)


def _from_source(source: Mapping[str, Mapping[str, object]], references: References) -> dict[str, str]:
    prefix = str(source.get("prefix") or "")
    values: dict[str, bytes] = {}
    for key, read in (("configMapRef", references.config_map), ("secretRef", references.secret)):
        reference = source.get(key)
        if reference:
            values |= read(str(reference.get("name")), optional=bool(reference.get("optional")))
    return {prefix + name: value.decode(errors="surrogateescape") for name, value in values.items()}
