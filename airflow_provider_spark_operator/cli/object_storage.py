"""Write files into object stores with fsspec, which takes credentials from the environment."""

import importlib


def write_object(folder: str, place: str, content: bytes) -> bool:
    """Write a file into a folder of a store, unless it exists. See `follow.shipment.WriteObject`.

    Raises:
        RuntimeError: fsspec is not installed.
        Exception: Each store has its own exceptions.
    """
    try:
        core = importlib.import_module("fsspec.core")
    except ModuleNotFoundError:
        raise RuntimeError(
            "missing package fsspec. Install it with pip install 'airflow-provider-spark-operator[files]'"
        ) from None
    filesystem, root = core.url_to_fs(folder)
    path = f"{root.rstrip('/')}/{place}"
    if filesystem.exists(path):
        return False
    filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
    filesystem.pipe_file(path, content)
    return True
