"""Record the run of an application while a process waits for its end."""
