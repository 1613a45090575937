"""The verbs of applications."""
