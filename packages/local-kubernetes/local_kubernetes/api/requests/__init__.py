"""Requests and bodies."""
