"""Spark connectors without Spark, JVM and cluster."""
