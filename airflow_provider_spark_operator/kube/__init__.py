"""One thin asynchronous way to the Kubernetes API: plain JSON objects, typed errors, list and watch."""
