"""Spark's configuration of one driver: its inputs, values, sizes, names, ports and URIs."""
