"""The objects that the controller knows: their cache, kinds, scope and patches."""
