"""Which images a cluster can run, and which runtime stands in for each."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from local_kubernetes.api.documents import JsonObject
from local_kubernetes.kubelet.runtime import HOST, Runtime


@dataclass(frozen=True)
class ImageRule:
    """One line of the table of images.

    Args:
        pattern: The image's name without tag and digest, with the wildcards of a shell. A pattern that begins
            with `*/` also matches without registry and folder.
        runtime: What runs such an image.
    """

    pattern: str
    runtime: Runtime


PROCESS_IMAGE = ImageRule("local/process", HOST)
DEFAULT_IMAGES: tuple[ImageRule, ...] = (
    PROCESS_IMAGE,
    *(ImageRule(f"*/{name}", HOST) for name in ("alpine", "bash", "busybox", "debian", "python", "ubuntu")),
)


# As the reference of a distribution has it: [registry[:port]/]path[:tag][@digest].
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REGISTRY = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d+)?"
_LONGEST_REFERENCE = 1000
_REFERENCE = re.compile(rf"(?:{_REGISTRY}/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@[a-z0-9+._-]+:[0-9a-f]+)?")


def parse_rule(text: str, runtimes: Sequence[Runtime] = (HOST,)) -> ImageRule:
    """Read a rule, `PATTERN=RUNTIME`.

    Args:
        text: The rule.
        runtimes: The runtimes that a rule can name.

    Raises:
        ValueError: The text is not a rule.
    """
    pattern, equals, name = text.rpartition("=")
    known = {runtime.name: runtime for runtime in runtimes}
    if not equals or not pattern or name not in known:
        raise ValueError(f"invalid rule {text!r}: give PATTERN=RUNTIME with one of the runtimes {', '.join(known)}")
    return ImageRule(pattern, known[name])


class InvalidImage(Exception):
    """The name of an image is none."""


class ImageMissing(Exception):
    """There is no runtime for an image; the message says what there is."""


def runtime_of(image: str, rules: Sequence[ImageRule] = DEFAULT_IMAGES) -> Runtime:
    """The runtime for an image; the first rule that matches decides.

    Raises:
        InvalidImage: it is no image's name.
        ImageMissing: no rule matches.
    """
    if len(image) > _LONGEST_REFERENCE or not _REFERENCE.fullmatch(image):
        image = image if len(image) <= _LONGEST_REFERENCE else f"{image[:_LONGEST_REFERENCE]}…"
        raise InvalidImage(f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}"')
    name = _repository(image)
    for rule in rules:
        patterns = {rule.pattern, rule.pattern.removeprefix("*/")}
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return rule.runtime
    known = ", ".join(rule.pattern for rule in rules)
    raise ImageMissing(
        f'the local cluster has no runtime for the image "{image}": containers are processes of this machine, '
        f"and it knows how to run {known}; --image PATTERN=RUNTIME adds another"
    )


def uses_assigned_ports(container: JsonObject, rules: Sequence[ImageRule]) -> bool:
    """Return whether a container of a pod listens on ports that the cluster assigns; see `Runtime`."""
    try:
        runtime = runtime_of(str(container.get("image")), rules)
    except (InvalidImage, ImageMissing):
        return False
    return runtime.uses_assigned_ports(container)


def _repository(image: str) -> str:
    """An image's name without digest and tag (a colon before the last `/` is a registry's port)."""
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]
