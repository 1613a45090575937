"""The API server of the local cluster: Kubernetes' REST interface over objects held in memory."""
