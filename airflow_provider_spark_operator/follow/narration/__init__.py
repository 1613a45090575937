"""Reports of a client while an application runs."""
