"""Credentials from a plugin or an identity provider, loaded by kubernetes_asyncio.

That client is imported only when it is used: see `kube.kubeconfig`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from .endpoint import Access, Endpoint, InvalidEndpoint, create_private_folder


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
        InvalidEndpoint: The plugin returned no credentials, or the loader does not accept the configuration.
        Exception: The loader failed in another way.
    """
    from kubernetes_asyncio.client import Configuration

    configuration = Configuration()
    folder = _choose_folder(new_folder)
    key_files.enter_context(_create_key_folder(folder))
    loader = await _load(source, context, configuration, folder)
    command = _read_plugin_command(loader)
    # Some releases of the loader log and ignore the failure of a plugin. The client would continue without a user.
    if command is not None and not configuration.api_key and not configuration.cert_file:
        raise _build_plugin_error(command)

    async def read_headers() -> Mapping[str, str]:
        settings = configuration.auth_settings()
        if inspect.isawaitable(settings):  # since release 36
            settings = await settings
        return {str(one["key"]): str(one["value"]) for one in settings.values() if one.get("value")}

    async def reload() -> None:
        with _create_key_folder(folder):
            await loader.load_and_set(configuration)

    return Access(
        _build_endpoint(configuration, loader.current_context["context"].get("namespace"), _read_proxy(loader)),
        read_headers,
        reload,
        reload_on_time=command is None or hasattr(loader, "exec_plugin_expiry"),
    )


def _read_proxy(loader: Any) -> str | None:
    """Return the proxy of the cluster in the kubeconfig. Older releases of the loader ignore it."""
    cluster = getattr(loader, "_cluster", None)  # the loader stores the cluster only in this private field
    url: str | None = cluster.safe_get("proxy-url") if cluster is not None else None
    return url


def _choose_folder(new_folder: Callable[[], Path]) -> Path | None:
    """Return None if no folder can be created. Most kubeconfigs need no key file."""
    try:
        return new_folder()
    except FileNotFoundError:
        return None


async def _load(source: str | Mapping[str, Any], context: str, configuration: Any, folder: Path | None) -> Any:
    """Fill `configuration` from a kubeconfig, and return the loader, which can do so again.

    Raises:
        InvalidEndpoint: The plugin returned no credentials, or the loader does not accept the kubeconfig.
    """
    from kubernetes_asyncio.config import ConfigException
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

    loader = None
    try:
        # By default, the loader does not write a refreshed token into the user's file.
        loader = KubeConfigLoader(
            config_dict=KubeConfigMerger(source).config if isinstance(source, str) else dict(source),
            active_context=context,
            config_base_path=None,
            temp_file_path=None if folder is None else str(folder),
        )
        await loader.load_and_set(configuration)
    except ConfigException as error:
        command = _read_plugin_command(loader)
        if command is not None and str(error).startswith("exec:"):
            raise _build_plugin_error(command) from error
        raise InvalidEndpoint(str(error)) from error
    return loader


def _read_plugin_command(loader: Any) -> str | None:
    """Return the command of the user's credential plugin; None if the user has no plugin."""
    user: Any = getattr(loader, "_user", None)  # the loader stores the user only in this private field
    return str(user["exec"].safe_get("command")) if user is not None and "exec" in user else None


def _build_plugin_error(command: str) -> InvalidEndpoint:
    return InvalidEndpoint(f"the credential plugin {command!r} returned no credentials; run it by hand to see why")


def _build_endpoint(configuration: Any, namespace: str | None, proxy: str | None) -> Endpoint:
    return Endpoint(
        server=configuration.host,
        namespace=namespace,
        authority_file=configuration.ssl_ca_cert,
        certificate_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify_ssl=configuration.verify_ssl,
        tls_server_name=configuration.tls_server_name,
        proxy=proxy,
    )


@contextmanager
def _create_key_folder(folder: Path | None) -> Iterator[None]:
    """Create a folder for the key files of the loader, and delete it afterwards.

    The loader deletes its files only when Python exits. A process that is killed, or calls `os._exit`, would leave
    them.
    """
    from kubernetes_asyncio.config import kube_config

    with nullcontext() if folder is None else create_private_folder(folder):
        try:
            yield
        finally:
            # The loader would otherwise reuse the deleted file for the same content.
            known = getattr(kube_config, "_temp_files", {})
            for content in [content for content, file in known.items() if Path(file).parent == folder]:
                del known[content]
