"""The resources of a driver, as spark-submit 4.3 builds them, but without a JVM. Each concern has its own module."""
