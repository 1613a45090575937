"""What the metadata of the package derives from the address of the repository: project URLs and links of the readme."""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class AddressHook(MetadataHookInterface):
    """Sets the readme and the URLs.

    The address is `repository` in `[tool.hatch.metadata.hooks.custom]`, or the environment variable REPOSITORY_ADDRESS,
    which the release workflow sets.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dynamic fields."""
        address = self.config["repository"] or os.environ.get("REPOSITORY_ADDRESS", "")
        release = f"v{metadata['version']}"
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": make_absolute(text, address, release)}
        metadata["urls"] = build_urls(address, release) if address else {}


def make_absolute(text: str, address: str, release: str) -> str:
    """Return a page whose relative links and pictures work outside the repository.

    Args:
        text: Markdown.
        address: Address of the repository. If it is empty, the page stays as it is.
        release: Tag of the release.
    """
    if not address:
        return text
    pages = rf"\g<1>{address}/blob/{release}/\g<2>"
    files = rf"\g<1>{address}/raw/{release}/\g<2>"
    text = re.sub(r'((?:!\[[^\]]*\]\(|(?:src|srcset)="))(?![a-z]+:)([^)"]+)', files, text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?![a-z]+:|#)([^)]+)", pages, text)


def build_urls(address: str, release: str) -> dict[str, str]:
    """Return the project URLs that package indexes show."""
    return {
        "Repository": address,
        "Documentation": f"{address}/blob/{release}/docs/index.md",
        "Changelog": f"{address}/blob/{release}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
