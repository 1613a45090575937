"""Kueue: the Workload of a resource, its admission by a queue, and the conditions that its owner writes."""
