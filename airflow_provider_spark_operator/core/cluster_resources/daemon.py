"""The container of a master or a worker, built upon the one that the user's template has for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_provider_spark_operator.core.driver.pod import JsonObject, merge, variable
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

_SCRIPTS: Final = "/opt/spark/sbin"


@dataclass(frozen=True)
class Daemon:
    """What Spark runs in a container.

    Attributes:
        role: master or worker; also the container's name.
        start: the script that starts it, with its arguments.
        main_class: by which the script finds it again.
        options_variable: through which it gets its configuration, as Java options.
        ports: what it listens on, by the names that the services refer to.
        environment: what it needs besides.
    """

    role: str
    start: str
    main_class: str
    options_variable: str
    ports: Mapping[str, int]
    environment: Mapping[str, str]

    @property
    def script(self) -> str:
        """Start the daemon, and live as long as it does: the scripts put it into the background."""
        status = f"{_SCRIPTS}/spark-daemon.sh status {self.main_class} 1"
        return f"{_SCRIPTS}/{self.start} && while {status}; do sleep 1; done"


def with_daemon(
    containers: list[JsonObject], daemon: Daemon, options: str, image: str | None, default_image: str, path: str
) -> list[JsonObject]:
    """The template's containers with the daemon's among them: completed where it has that name, else appended.

    Args:
        containers: of the user's template.
        daemon: what to run.
        options: its Java options.
        image: of the configuration, which wins over the template's.
        default_image: where neither names one.
        path: where the containers stand in the resource, for messages.

    Raises:
        InvalidResource: the template sets the variable of the options in a way that nothing can be added to.
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
    container["env"] = _environment(base.get("env") or [], daemon, options, f"{path}[{index}].env")
    container["ports"] = with_ports(
        base.get("ports") or [],
        [{"name": name, "containerPort": port} for name, port in daemon.ports.items()],
        number="containerPort",
    )
    return [*containers[:index], container, *containers[index + 1 :]]


def with_ports(given: list[JsonObject], needed: list[JsonObject], *, number: str) -> list[JsonObject]:
    """The `given` ports and those `needed` that are not among them, by name or by TCP number (field `number`).

    One that is there by number gets the name that others refer to: the API has every port but once.
    """
    names = {port.get("name") for port in given}
    missing = {port[number]: port for port in needed if port["name"] not in names}
    ports = []
    for port in given:
        is_tcp = (port.get("protocol") or "TCP") == "TCP"
        match = missing.pop(port.get(number), None) if is_tcp else None
        ports.append({**match, **port, "name": match["name"]} if match else port)
    return ports + list(missing.values())


def _environment(given: list[JsonObject], daemon: Daemon, options: str, path: str) -> list[JsonObject]:
    ours = {**daemon.environment, daemon.options_variable: options}
    result = []
    for index, entry in enumerate(given):
        name = entry.get("name")
        if name == daemon.options_variable:
            # What the template adds comes last, where Java lets it win.
            entry = variable(name, " ".join(filter(None, (options, _value(entry, f"{path}[{index}]")))))
        if isinstance(name, str):
            ours.pop(name, None)
        result.append(entry)
    return result + [variable(name, value) for name, value in ours.items()]


def _value(entry: Mapping[str, Any], path: str) -> str:
    if entry.get("valueFrom"):
        message = "cannot be taken from elsewhere, since the cluster's configuration is added to it: give a value"
        raise InvalidResource([Problem(f"{path}.valueFrom", message)])
    return entry.get("value") or ""
