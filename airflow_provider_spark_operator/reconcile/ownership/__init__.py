"""Which controller manages a resource: claims, Leases and the election."""
