"""Decorators that make tasks of Python functions."""
