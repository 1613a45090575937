"""The HTTP server and its handlers."""
