"""Benchmarks, which `make bench` runs. Each module is one benchmark and prints its results."""
