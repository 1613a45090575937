"""Task decorators that run Python functions on Spark."""
