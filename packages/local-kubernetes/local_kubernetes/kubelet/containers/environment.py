"""The environment and command line of a container, from its pod."""

from collections.abc import Mapping

from ...api.kinds.documents import JsonObject
from .references import References


def build_environment(
    pod: JsonObject, container: JsonObject, references: References, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a container.

    Args:
        pod: The pod, with the addresses in its status.
        container: The container's entry in the pod's spec.
        references: Looks up the objects that the container refers to.
        given: Variables of every container; the pod's own variables override them.

    Raises:
        MissingReference: A ConfigMap, secret, key or field does not exist.
    """
    environment = dict(given)
    for source in container.get("envFrom") or ():
        environment |= _read_source(source, references)
    for entry in container.get("env") or ():
        name = str(entry["name"])
        if entry.get("valueFrom"):
            value = references.resolve_variable(entry["valueFrom"], pod, container)
            if value is not None:
                environment[name] = value
        else:
            environment[name] = expand(str(entry.get("value") or ""), environment)
    return environment


def build_command_line(container: JsonObject, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the command and the arguments of a container, with variables replaced."""
    command = [expand(str(word), environment) for word in container.get("command") or ()]
    arguments = [expand(str(word), environment) for word in container.get("args") or ()]
    return command, arguments


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable and `$$` by `$`; keep references to unknown variables.

    The text is read once, so that its content cannot make the replacement slow.
    """
    pieces: list[str] = []
    position, last_end = 0, text.rfind(")")
    while (start := text.find("$", position)) >= 0:
        pieces.append(text[position:start])
        following = text[start + 1 : start + 2]
        if following == "(" and start < last_end:
            end = text.index(")", start)
            pieces.append(environment.get(text[start + 2 : end], text[start : end + 1]))
            position = end + 1
        else:
            pieces.append("$")
            position = start + (2 if following == "$" else 1)
    pieces.append(text[position:])
    return "".join(pieces)


def _read_source(source: Mapping[str, Mapping[str, object]], references: References) -> dict[str, str]:
    prefix = str(source.get("prefix") or "")
    values: dict[str, bytes] = {}
    for key, read in (("configMapRef", references.get_config_map), ("secretRef", references.get_secret)):
        reference = source.get(key)
        if reference:
            values |= read(str(reference.get("name")), optional=bool(reference.get("optional")))
    return {prefix + name: value.decode(errors="surrogateescape") for name, value in values.items()}
