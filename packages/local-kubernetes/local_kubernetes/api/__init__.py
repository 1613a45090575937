"""The API server of the local cluster: the REST API of Kubernetes over objects in memory."""
