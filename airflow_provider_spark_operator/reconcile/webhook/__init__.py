"""The validating webhook."""
