"""Hooks of MkDocs that complete the site: the link to the repository, pictures for dark pages, and local diagrams.

The site links to the repository, whose address is in `pyproject.toml`. A picture whose name ends with `-light` has a
twin for dark pages. Pages with a diagram load Mermaid from the site
itself: `make site` downloads the script. If the site has no copy, the theme loads Mermaid from unpkg.com.
"""

import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import copy_file, get_relative_url

_SCRIPT = "assets/mermaid.min.js"
_DOWNLOADED = Path(__file__).parents[1] / ".site-venv/package/dist/mermaid.min.js"


def read_address() -> str:
    """Return the address of the repository, or an empty string if it is not known."""
    tool = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    address: str = tool["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    return address


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link to the repository on each page."""
    if address := read_address():
        config.repo_url, config.repo_name = address, address.partition("://")[2].partition("/")[2]
    return config


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs passes them
    """Return the page with the pictures of both schemes, and with the script in front if it has a diagram."""
    html = re.sub(r'<img ([^>]*src="[^"]+)-light\.svg"([^>]*)>', _show_per_scheme, html)
    if 'class="mermaid"' not in html or not _DOWNLOADED.is_file():
        return html
    return f'<script src="{get_relative_url(_SCRIPT, page.url)}"></script>\n{html}'


def _show_per_scheme(image: re.Match[str]) -> str:
    return "".join(f'<img {image[1]}-{scheme}.svg#only-{scheme}"{image[2]}>' for scheme in ("light", "dark"))


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the script into the site."""
    if _DOWNLOADED.is_file():
        copy_file(str(_DOWNLOADED), str(Path(config.site_dir) / _SCRIPT))
