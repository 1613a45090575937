"""The servers and the conversation of local-kubernetes' contract suite, for what this package installs on a server."""

from contract.conftest import conversation, pytest_generate_tests, real_server, server

__all__ = ["conversation", "pytest_generate_tests", "real_server", "server"]
