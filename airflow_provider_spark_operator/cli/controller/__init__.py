"""The verbs of the controller: run it, print its definitions, check a cluster."""
