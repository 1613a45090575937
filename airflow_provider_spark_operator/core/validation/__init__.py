"""Validation of resources: all problems of a document, with their paths and severities.

The package is above the models and the builders, which never import it.
"""
