"""Registers ``format("pinot")`` with Spark automatically.

When a session first needs a Python data source, Spark imports each top-level module whose name starts with
``pyspark_`` in a Python process of the driver, and registers its ``DefaultSource``.
"""

from contextlib import suppress

# An error here would also prevent Spark from finding the data sources of other packages.
with suppress(ModuleNotFoundError):  # the extra "spark" is not installed
    from spark_connectors import PinotDataSource as DefaultSource

__all__ = ["DefaultSource"]
