"""Kinds, documents and status errors."""
