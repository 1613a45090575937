"""Reconcile one application or cluster."""
