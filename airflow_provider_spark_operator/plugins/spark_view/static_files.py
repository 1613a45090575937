"""Serve the static files of the view. They contain no data, so they need no login."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

_HEADERS: Final[Mapping[str, str]] = {
    # The browser asks each time whether a file has changed, so an upgrade takes effect at once.
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _ViewFiles(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response


def build_application() -> StaticFiles:
    """Return the application with the files of the view."""
    return _ViewFiles(directory=Path(__file__).parent / "static", html=True)
