"""Spark connectors for Apache Pinot: ``format("pinot")`` for DataFrames.

::

    df.write.format("pinot").mode("append").option("controller", url).option("table", "flights").save()
"""

from spark_connectors.data_source import PinotDataSource
from spark_connectors.prepare import prepare_for_pinot

__all__ = ["PinotDataSource", "prepare_for_pinot"]
