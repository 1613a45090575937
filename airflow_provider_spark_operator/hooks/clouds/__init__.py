"""Connections to managed clusters: Amazon EKS, Google GKE and Microsoft AKS."""
