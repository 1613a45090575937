"""Watches, the queue and the workers."""
