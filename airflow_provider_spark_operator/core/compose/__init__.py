"""Compose the custom resource from a document and parameters. DAG files import this package: standard library only."""
