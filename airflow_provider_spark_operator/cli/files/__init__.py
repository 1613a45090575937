"""The files that verbs read."""
