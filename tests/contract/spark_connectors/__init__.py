"""Segments that Pinot's own tools have built, read by ``format("pinot")``."""
