"""The verbs of the local cluster."""
