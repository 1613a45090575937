"""Compose an application with Airflow's object storage, and translate the failures."""

from airflow.sdk import ObjectStoragePath

from ..airflow_compat import AirflowException, AirflowFailException, mask_secrets
from ..core.kubernetes.json_object import JsonObject
from ..follow.submission.composition import Composition
from ..follow.submission.shipment import FileUnavailable, UploadFailed


def compose(composition: Composition) -> JsonObject:
    """Return the application. Reads its files, and uploads those that it cannot contain.

    Raises:
        InvalidResource: A parameter or a pod template is not valid.
        AirflowFailException: A file could not be read.
        AirflowException: A file could not be uploaded. A retry may succeed.
    """
    try:
        return composition.compose(write_object)
    except FileUnavailable as error:
        raise AirflowFailException(mask_secrets(str(error))) from error.__cause__
    except UploadFailed as error:
        raise AirflowException(mask_secrets(str(error))) from error.__cause__


def write_object(folder: str, place: str, content: bytes) -> bool:
    """Write a file into a folder of Airflow's object storage, unless it exists. See `WriteObject`."""
    target = ObjectStoragePath(folder) / place
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return True
