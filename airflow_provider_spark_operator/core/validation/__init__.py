"""Validation of resources: all problems of a document, with their paths and their severity.

The package is above the models and the builders, which never import it.
"""
