"""Segments built by Pinot's own tools, read by ``format("pinot")``."""
