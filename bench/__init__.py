"""Measurements, run by hand or by `make bench`: each module is one, and prints what it found."""
