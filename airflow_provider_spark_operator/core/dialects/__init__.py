"""How each kind of resource shows its progress, in terms that are the same for all kinds."""
