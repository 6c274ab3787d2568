"""Pausing and resuming tables and partitions, and what must be true before and after."""
