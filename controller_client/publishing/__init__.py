"""Publishes segments atomically: they are staged, checked, pushed, switched and seen by brokers.

FileIngestionTask and Spark's writer both publish through this package.
"""
