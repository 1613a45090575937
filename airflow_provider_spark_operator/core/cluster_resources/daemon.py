"""The container of a master or a worker, based on the container in the user's template."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..driver.pod.pod import build_variable, merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.problems import InvalidResource, Problem

_SCRIPTS: Final = "/opt/spark/sbin"


@dataclass(frozen=True)
class Daemon:
    """The Spark process in a container.

    Attributes:
        role: The role, master or worker. It is also the name of the container.
        start: The script that starts the daemon, with its arguments.
        main_class: The main class, by which the script finds the running daemon.
        options_variable: The environment variable with the configuration, as Java options.
        ports: The ports by the names that the services use.
        environment: Other environment variables.
    """

    role: str
    start: str
    main_class: str
    options_variable: str
    ports: Mapping[str, int]
    environment: Mapping[str, str]

    @property
    def script(self) -> str:
        """The shell script that starts the daemon, which runs in the background, and ends when the daemon ends."""
        status = f"{_SCRIPTS}/spark-daemon.sh status {self.main_class} 1"
        return f"{_SCRIPTS}/{self.start} && while {status}; do sleep 1; done"


def with_daemon(
    containers: list[JsonObject], daemon: Daemon, options: str, image: str | None, default_image: str, path: str
) -> list[JsonObject]:
    """Return the containers of the template with the container of the daemon.

    A container with the daemon's name is completed. If there is none, the container is appended.

    Args:
        containers: The containers of the user's template.
        daemon: The daemon to run.
        options: The Java options of the daemon.
        image: The image of the configuration. It takes precedence over the image of the template.
        default_image: The image if neither the configuration nor the template names one.
        path: The path of the containers in the resource, for messages.

    Raises:
        InvalidResource: The template takes the value of the options variable from another object.
    """
    index = next((i for i, each in enumerate(containers) if each.get("name") == daemon.role), len(containers))
    base = containers[index] if index < len(containers) else {}
    container = merge(
        {key: value for key, value in base.items() if key not in ("env", "ports")},
        {
            "name": daemon.role,
            "image": image or base.get("image") or default_image,
            "command": ["bash"],
            "args": ["-c", daemon.script],
        },
    )
    container["env"] = _build_environment(base.get("env") or [], daemon, options, f"{path}[{index}].env")
    container["ports"] = with_ports(
        base.get("ports") or [],
        [{"name": name, "containerPort": port} for name, port in daemon.ports.items()],
        number="containerPort",
    )
    return [*containers[:index], container, *containers[index + 1 :]]


def with_ports(given: list[JsonObject], needed: list[JsonObject], *, number: str) -> list[JsonObject]:
    """Return the `given` ports and those `needed` ports that they do not contain, by name or by TCP number.

    `number` is the field with the port number. A given port with the number of a needed port gets the name of the
    needed port, because the API allows each number only once.
    """
    names = {port.get("name") for port in given}
    missing = {port[number]: port for port in needed if port["name"] not in names}
    ports = []
    for port in given:
        is_tcp = (port.get("protocol") or "TCP") == "TCP"
        match = missing.pop(port.get(number), None) if is_tcp else None
        ports.append({**match, **port, "name": match["name"]} if match else port)
    return ports + list(missing.values())


def _build_environment(given: list[JsonObject], daemon: Daemon, options: str, path: str) -> list[JsonObject]:
    ours = {**daemon.environment, daemon.options_variable: options}
    result = []
    for index, entry in enumerate(given):
        name = entry.get("name")
        if name == daemon.options_variable:
            # Java uses the last value of an option, so that options of the template take precedence.
            entry = build_variable(name, " ".join(filter(None, (options, _get_value(entry, f"{path}[{index}]")))))
        if isinstance(name, str):
            ours.pop(name, None)
        result.append(entry)
    return result + [build_variable(name, value) for name, value in ours.items()]


def _get_value(entry: Mapping[str, Any], path: str) -> str:
    if entry.get("valueFrom"):
        message = (
            "is not supported for this variable, because the operator adds the cluster's configuration to its value. "
            "Set `value` instead of `valueFrom`"
        )
        raise InvalidResource([Problem(f"{path}.valueFrom", message)])
    return entry.get("value") or ""
