"""The node of the local cluster: runs a pod's containers as process groups of this machine."""
