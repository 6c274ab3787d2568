"""Faults put on writes of ``format("pinot")``."""
