"""Paths in a container, and the directories of this machine that they map to."""

import re
from collections.abc import Mapping
from pathlib import Path


class PathMap:
    """Rewrites a container's paths in a text to paths of this machine.

    Args:
        folders: The file or directory for each mount path in the container.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {"/" + path.strip("/"): str(folder) for path, folder in folders.items()}
        # The longest path comes first, because a mount can be inside another one. A path does not begin after a
        # character of a name or path (so not in s3a://bucket/data), except after the slashes of a scheme
        # (file:///data).
        paths = "|".join(re.escape(path) for path in sorted(self._folders, key=len, reverse=True))
        self._pattern = re.compile(rf"(?:(?<![\w./~}}-])|(?<=://))(?:{paths})(?![\w.-])") if paths else None

    def rewrite(self, text: str) -> str:
        """Return the text with this machine's paths."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._folders[match.group()], text)

    def overlay(self, folders: Mapping[str, Path]) -> "PathMap":
        """Return a copy with more directories, which take precedence."""
        own = {path: Path(folder) for path, folder in self._folders.items()}
        return PathMap(own | {"/" + path.strip("/"): folder for path, folder in folders.items()})
