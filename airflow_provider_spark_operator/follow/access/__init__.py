"""Requests of a client to the cluster: references, errors, versions and outages."""
