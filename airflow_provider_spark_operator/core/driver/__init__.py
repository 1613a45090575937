"""A driver's resources, built as spark-submit 4.3 builds them, without a JVM: one module per concern."""
