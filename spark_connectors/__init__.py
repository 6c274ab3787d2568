"""Spark connectors for Apache Pinot: ``format("pinot")`` for DataFrames.

::

    df.write.format("pinot").mode("append").option("controller", url).option("table", "flights").save()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_connectors.data_source import PinotDataSource
    from spark_connectors.prepare import prepare_for_pinot

__all__ = ["PinotDataSource", "prepare_for_pinot"]

_HOMES = {"PinotDataSource": "spark_connectors.data_source", "prepare_for_pinot": "spark_connectors.prepare"}


def __getattr__(name: str) -> Any:
    # Imported lazily: each Python worker of Spark imports this package, and importing everything would add
    # half a second per worker to the start of every query.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
