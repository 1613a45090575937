"""Logs of drivers and executors."""
