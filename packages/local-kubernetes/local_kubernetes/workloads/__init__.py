"""Controllers of the local cluster: what makes pods of other objects."""
