"""The pages of the Spark view."""
