"""What a sensor checks while the DAG is parsed: a name that no resource can have would be waited for in vain."""

import re

# Wider than what our own operators take: somebody else has given the name.
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\Z")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


def check_place(name: object, namespace: object) -> None:
    """Refuse what cannot be the name, or the namespace, of a resource, as far as it is known yet.

    Raises:
        ValueError: One of them cannot be.
    """
    for what, given, form in (("name", name, _NAME), ("namespace", namespace, _NAMESPACE)):
        if isinstance(given, str) and "{{" not in given and "{%" not in given and not form.match(given):
            raise ValueError(
                f"{what} {given!r} is none that Kubernetes knows: lower case letters, digits and -, "
                "beginning and ending with a letter or digit"
            )
