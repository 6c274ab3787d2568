"""Registers ``format("pinot")`` with Spark automatically.

The first time a session needs a Python data source, Spark imports each top-level module whose name begins
with ``pyspark_``, in a Python process of the driver, and registers its ``DefaultSource``.
"""

from contextlib import suppress

# An error here would keep Spark from finding other packages' sources, too.
with suppress(ModuleNotFoundError):  # what the extra "spark" brings is not installed
    from spark_connectors import PinotDataSource as DefaultSource

__all__ = ["DefaultSource"]
