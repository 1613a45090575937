"""The behaviours: scripts of requests whose answers are compared, one module for each topic."""
