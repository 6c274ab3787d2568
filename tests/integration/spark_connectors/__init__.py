"""Tests of Spark connectors with a real Pinot and a real Spark."""
