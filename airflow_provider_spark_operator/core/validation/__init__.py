"""Validation of resources: every problem of a document, with its path and severity.

Above the models and the builders, which never import this package.
"""
