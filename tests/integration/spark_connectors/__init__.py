"""Spark connectors against a real Pinot and a real Spark."""
