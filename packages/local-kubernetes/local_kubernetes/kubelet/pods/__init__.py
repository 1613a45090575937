"""Pods and their status."""
