"""Paths inside a container, and the folders of this machine that stand for them."""

import re
from collections.abc import Mapping
from pathlib import Path


class PathMap:
    """Rewrites the paths of a container, wherever they appear in a text, to those of this machine.

    Args:
        folders: for each mount path in the container the file or folder that stands for it.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {"/" + path.strip("/"): str(folder) for path, folder in folders.items()}
        # The longest first: a mount within another one is its own. A path begins where no name or path goes
        # on (so not in s3a://bucket/data), except after a scheme's slashes (file:///data).
        paths = "|".join(re.escape(path) for path in sorted(self._folders, key=len, reverse=True))
        self._pattern = re.compile(rf"(?:(?<![\w./~}}-])|(?<=://))(?:{paths})(?![\w.-])") if paths else None

    def rewrite(self, text: str) -> str:
        """The text with this machine's paths."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._folders[match.group()], text)

    def overlay(self, folders: Mapping[str, Path]) -> "PathMap":
        """This map with more folders, which take precedence."""
        own = {path: Path(folder) for path, folder in self._folders.items()}
        return PathMap(own | {"/" + path.strip("/"): folder for path, folder in folders.items()})
