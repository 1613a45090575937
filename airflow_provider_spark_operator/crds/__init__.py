"""The CustomResourceDefinitions, generated from the models, so that the two cannot disagree."""

from .definitions import build_custom_resource_definitions

__all__ = ["build_custom_resource_definitions"]
