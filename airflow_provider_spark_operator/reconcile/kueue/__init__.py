"""Admission of applications and clusters by Kueue."""
