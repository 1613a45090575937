"""The document that is submitted: what was given, with parameters over it and local files on their way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.parameters import Parameters, folder_problem, split_list
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.operators import shipment


@dataclass(frozen=True)
class Sender:
    """Who ships files, and where to.

    Attributes:
        application: The application's name.
        try_id: The id of the task instance in this try.
        folders: Where local files are looked for.
        upload_to: The URL of a folder, for what no config map takes; None for none.
        download_from: The same folder as the driver reads it.
        generated: Files that are made here and now; those beside a script need not be named by a parameter.
    """

    application: str
    try_id: str
    folders: Sequence[str]
    upload_to: str | None = None
    download_from: str | None = None
    generated: Sequence[shipment.LocalFile] = ()


def prepared(document: JsonObject, parameters: Parameters, sender: Sender) -> JsonObject:
    """`document` as it is submitted.

    Raises:
        InvalidResource: A parameter is wrong.
        AirflowFailException: A file is wrong, in a way that no retry mends.
        AirflowException: A file could not be uploaded.
    """
    problem = folder_problem(sender.upload_to)
    if problem:
        raise InvalidResource([problem])
    script = [parameters.py_file] if parameters.py_file else []
    beside = [*split_list(parameters.py_files), *split_list(parameters.files), *split_list(parameters.jars)]
    made = [file.given for file in sender.generated]
    named = [path for path in [*script, *beside] if path not in made]
    files = [*sender.generated, *shipment.read_files(named, sender.folders)]
    mount_files = dialect_of(document.get("apiVersion")).mount_files
    packed = shipment.packed(files, sender.upload_to, by_config_map=mount_files is not None)
    uris = {file.given: shipment.mounted_uri(file) for file in packed.mounted}
    for file in packed.uploaded:
        uris[file.given] = shipment.upload(file, sender.upload_to or "", sender.download_from)
    generated = [file.given for file in sender.generated if file.beside]
    if generated:
        parameters = replace(parameters, files=[*split_list(parameters.files), *generated])
    document = apply_parameters(document, _located(parameters, uris))
    if not packed.mounted or mount_files is None:
        return document
    name = shipment.config_map_name(sender.application, packed.mounted, sender.try_id)
    # Spark hands a script to the driver alone; what goes beside it every executor reads, at the same place.
    executors = any(file.beside or file.given in beside for file in packed.mounted)
    return mount_files(document, name, {file.name: file.text or "" for file in packed.mounted}, executors=executors)


def _located(parameters: Parameters, uris: dict[str, str]) -> Parameters:
    def where(entries: Sequence[str] | str | None) -> list[str] | None:
        return None if entries is None else [uris.get(entry, entry) for entry in split_list(entries)]

    return replace(
        parameters,
        py_file=uris.get(parameters.py_file, parameters.py_file) if parameters.py_file else parameters.py_file,
        py_files=where(parameters.py_files),
        files=where(parameters.files),
        jars=where(parameters.jars),
    )
