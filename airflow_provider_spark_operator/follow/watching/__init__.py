"""Wait for applications and clusters with shared watches."""
