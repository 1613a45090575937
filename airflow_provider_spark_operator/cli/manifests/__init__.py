"""The verbs of manifests, which need no cluster."""
