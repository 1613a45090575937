"""The images that a cluster can run, and the runtime of each."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...api.kinds.documents import JsonObject
from .runtime import HOST, Runtime


@dataclass(frozen=True)
class ImageRule:
    """One rule of the image table.

    Args:
        pattern: Name of images without tag and digest, with the wildcards of a shell. A pattern that begins
            with `*/` also matches images without registry and path.
        runtime: Runtime of these images.
    """

    pattern: str
    runtime: Runtime


PROCESS_IMAGE = ImageRule("local/process", HOST)
DEFAULT_IMAGES: tuple[ImageRule, ...] = (
    PROCESS_IMAGE,
    *(ImageRule(f"*/{name}", HOST) for name in ("alpine", "bash", "busybox", "debian", "python", "ubuntu")),
)


# The format of image references: [registry[:port]/]path[:tag][@digest].
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
    if _strip_tag(pattern) != pattern:
        raise ValueError(f"invalid rule {text!r}: a rule applies to all tags, so leave out the tag of the image")
    return ImageRule(pattern, known[name])


class InvalidImage(Exception):
    """The image is not a valid image reference."""


class ImageMissing(Exception):
    """No runtime matches the image; the message lists the rules."""


def find_runtime(image: str, rules: Sequence[ImageRule] = DEFAULT_IMAGES) -> Runtime:
    """Return the runtime of an image; the first matching rule decides.

    Raises:
        InvalidImage: The image is not a valid image reference.
        ImageMissing: No rule matches.
    """
    if len(image) > _LONGEST_REFERENCE or not _REFERENCE.fullmatch(image):
        image = image if len(image) <= _LONGEST_REFERENCE else f"{image[:_LONGEST_REFERENCE]}…"
        raise InvalidImage(f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}"')
    name = _strip_tag(image)
    for rule in rules:
        patterns = {rule.pattern, rule.pattern.removeprefix("*/")}
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return rule.runtime
    known = ", ".join(rule.pattern for rule in rules)
    raise ImageMissing(
        f'the local cluster has no runtime for the image "{image}": containers are processes of this machine, '
        f"and the cluster can run only {known}. To allow other images, use --image PATTERN=RUNTIME"
    )


def uses_assigned_ports(container: JsonObject, rules: Sequence[ImageRule]) -> bool:
    """Return whether a container of a pod listens on ports that the cluster assigns; see `Runtime`."""
    try:
        runtime = find_runtime(str(container.get("image")), rules)
    except (InvalidImage, ImageMissing):
        return False
    return runtime.uses_assigned_ports(container)


def _strip_tag(image: str) -> str:
    """Return the image without digest and tag; a colon before the last `/` belongs to the registry's port."""
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]
