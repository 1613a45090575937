"""Import the module of a verb in less time."""

import gc
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


def import_verb(name: str) -> ModuleType:
    """Import a module without plugins of pydantic and without garbage collection: a tenth of the time.

    pydantic reads the metadata of every installed distribution to find plugins, and the models of this package need
    none. Modules are no garbage, so a collection during their import is of no use.

    Args:
        name: The full name of the module.

    Raises:
        ModuleNotFoundError: The module needs a package that is not installed.
    """
    with _without_plugins(), _without_collection():
        return importlib.import_module(name)


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Disable plugins of pydantic, but not in the programs that the verb starts."""
    if _PLUGINS in os.environ:
        yield
        return
    os.environ[_PLUGINS] = "__all__"
    try:
        yield
    finally:
        del os.environ[_PLUGINS]


@contextmanager
def _without_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # modules live until the end of the process: a collection need not visit their objects
        if was_enabled:
            gc.enable()
