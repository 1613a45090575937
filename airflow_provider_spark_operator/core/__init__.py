"""The lifecycle of Spark on Kubernetes, pure: no I/O, no clock, no randomness."""
