"""Spark's properties and configuration as Spark reads them."""
