"""Credentials from a plugin or an identity provider, loaded by the official client.

The official client is imported only when it is used: see `kube.kubeconfig`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from airflow_provider_spark_operator.kube.endpoint import Access, Endpoint, Unusable, create_private_folder


async def ask_plugin(
    source: str | Mapping[str, Any], context: str, key_files: ExitStack, new_folder: Callable[[], Path]
) -> Access:
    """Open the access of a context whose user has a credential plugin or an identity provider.

    Args:
        source: The files, joined as in $KUBECONFIG, or the content of a kubeconfig.
        context: The name of the context.
        key_files: The key files exist as long as this is open.
        new_folder: Returns the path of a new folder for the key files.

    Raises:
        Unusable: The plugin returned no credentials, or the loader does not accept the configuration.
        Exception: The loader failed in another way.
    """
    from kubernetes.aio import config as kubernetes_config
    from kubernetes.aio.client import Configuration

    configuration = Configuration()
    folder = _choose_folder(new_folder)
    key_files.enter_context(_create_key_folder(folder))
    try:
        loader = await _load(source, context, configuration, folder)
    except kubernetes_config.ConfigException as error:
        raise Unusable(str(error)) from error
    user: Any = getattr(loader, "_user", None)  # the loader stores the user only in this private field
    has_plugin = user is not None and "exec" in user
    # The loader logs and ignores the failure of a credential plugin. The client would continue as an anonymous user.
    if has_plugin and not configuration.api_key and not configuration.cert_file:
        command = user["exec"].safe_get("command")
        raise Unusable(f"the credential plugin {command!r} returned no credentials; run it by hand to see why")

    async def read_headers() -> Mapping[str, str]:
        settings = await configuration.auth_settings()
        return {str(one["key"]): str(one["value"]) for one in settings.values() if one.get("value")}

    async def reload() -> None:
        with _create_key_folder(folder):
            await loader.load_and_set(configuration)

    return Access(
        _build_endpoint(configuration, loader.current_context["context"].get("namespace")),
        read_headers,
        reload,
        reload_on_time=not has_plugin or hasattr(loader, "exec_plugin_expiry"),
    )


def _choose_folder(new_folder: Callable[[], Path]) -> Path | None:
    """Return None if no folder can be created. Most kubeconfigs need no key file."""
    try:
        return new_folder()
    except FileNotFoundError:
        return None


async def _load(source: str | Mapping[str, Any], context: str, configuration: Any, folder: Path | None) -> Any:
    from kubernetes.aio import config as kubernetes_config

    files = None if folder is None else str(folder)
    if isinstance(source, str):
        # persist_config would write a refreshed token into the user's file.
        return await kubernetes_config.load_kube_config(
            config_file=source,
            context=context,
            client_configuration=configuration,
            persist_config=False,
            temp_file_path=files,
        )
    return await kubernetes_config.load_kube_config_from_dict(
        dict(source), context=context, client_configuration=configuration, temp_file_path=files
    )


def _build_endpoint(configuration: Any, namespace: str | None) -> Endpoint:
    return Endpoint(
        server=configuration.host,
        namespace=namespace,
        authority_file=configuration.ssl_ca_cert,
        certificate_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify_ssl=configuration.verify_ssl,
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
    )


@contextmanager
def _create_key_folder(folder: Path | None) -> Iterator[None]:
    """Create a folder for the key files of the loader, and delete it afterwards.

    The loader deletes its files only when Python exits. A process that is killed, or calls `os._exit`, would leave
    them.
    """
    from kubernetes.aio.config import kube_config

    with nullcontext() if folder is None else create_private_folder(folder):
        try:
            yield
        finally:
            # The loader would otherwise reuse the deleted file for the same content.
            known = getattr(kube_config, "_temp_files", {})
            for content in [content for content, file in known.items() if Path(file).parent == folder]:
                del known[content]
