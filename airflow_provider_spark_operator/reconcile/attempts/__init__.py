"""The objects of one attempt, and the files that it names."""
