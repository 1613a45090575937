"""What every Kubernetes program knows: names, labels, selectors, times, pods, JSON access and problems."""
