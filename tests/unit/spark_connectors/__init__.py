"""Tests of Spark connectors without Spark, JVM or cluster."""
