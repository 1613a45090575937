"""The objects next to the driver's pod: ConfigMap, Service, NetworkPolicy and routes."""
