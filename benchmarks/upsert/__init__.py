"""Upsert of this project beside Pinot's own and beside none; see :mod:`benchmarks.upsert.__main__`."""
