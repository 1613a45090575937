"""The objects beside the driver's pod: ConfigMap, Service, NetworkPolicy and routes."""
