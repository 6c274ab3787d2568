"""Faults injected into writes with ``format("pinot")``."""
