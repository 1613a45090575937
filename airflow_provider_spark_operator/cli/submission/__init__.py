"""What `submit`, `restart` and `diff` send: its source and its options."""
