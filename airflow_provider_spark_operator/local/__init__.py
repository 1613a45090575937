"""A Kubernetes for one machine: an API server in memory and a kubelet that runs pods as processes."""
