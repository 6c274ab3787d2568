"""Segments become a table's, all at once or not at all: staged, checked, pushed, switched, seen by brokers.

FileIngestionTask and Spark's writer both publish through this package.
"""
