"""A Kubernetes cluster on one machine: an API server in memory and a kubelet that runs pods as processes."""

__version__ = "0.9.0rc1"
