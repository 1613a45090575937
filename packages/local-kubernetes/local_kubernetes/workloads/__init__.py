"""Controllers of the local cluster: they create pods for other objects."""
