"""This project's upsert against Pinot's own and against none; see :mod:`benchmarks.upsert.__main__`."""
