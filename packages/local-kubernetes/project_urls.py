"""The project URLs of the metadata, which derive from the address of the repository."""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class UrlsHook(MetadataHookInterface):
    """Sets the URLs.

    The address is `repository` in `[tool.hatch.metadata.hooks.custom]`, or the environment variable REPOSITORY_ADDRESS,
    which the release workflow sets.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dynamic field."""
        address = self.config["repository"] or os.environ.get("REPOSITORY_ADDRESS", "")
        folder = f"blob/v{metadata['version']}/packages/local-kubernetes"
        metadata["urls"] = (
            {
                "Repository": address,
                "Documentation": f"{address}/{folder}/README.md",
                "Changelog": f"{address}/{folder}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            if address
            else {}
        )
