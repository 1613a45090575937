"""Containers as processes."""
