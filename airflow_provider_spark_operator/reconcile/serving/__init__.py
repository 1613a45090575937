"""The HTTP servers for health and metrics."""
