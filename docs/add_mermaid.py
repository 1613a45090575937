"""Load Mermaid from the site itself, on pages that have a diagram: a hook of MkDocs.

`make site` downloads the script. If the site has no copy, the theme loads Mermaid from unpkg.com.
"""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import copy_file, get_relative_url

_SCRIPT = "assets/mermaid.min.js"
_DOWNLOADED = Path(__file__).parents[1] / ".site-venv/package/dist/mermaid.min.js"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs passes them
    """Return the page, with the script in front if it has a diagram."""
    if 'class="mermaid"' not in html or not _DOWNLOADED.is_file():
        return html
    return f'<script src="{get_relative_url(_SCRIPT, page.url)}"></script>\n{html}'


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the script into the site."""
    if _DOWNLOADED.is_file():
        copy_file(str(_DOWNLOADED), str(Path(config.site_dir) / _SCRIPT))
