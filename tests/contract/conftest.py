"""The servers and the conversation of local-kubernetes' contract tests, for the resources of this package."""

from contract.conftest import conversation, pytest_generate_tests, real_server, server

__all__ = ["conversation", "pytest_generate_tests", "real_server", "server"]
