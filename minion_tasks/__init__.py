"""Minion tasks for Apache Pinot: FileIngestionTask with consistent push, and the scheduler that starts it."""
