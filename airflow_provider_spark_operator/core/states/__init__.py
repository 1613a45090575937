"""The states and reasons that a status shows, and the defaults of restarts."""
