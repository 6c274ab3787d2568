"""Spark connectors for Apache Pinot: the room for the data source and the Spark engine of FileIngestionTask.

Nothing is public here yet.
"""
