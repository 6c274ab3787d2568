"""Options of ``format("pinot")``: frozen dataclasses from which parsing and documentation are derived."""

from spark_connectors.options.connection import ConnectionOptions
from spark_connectors.options.declared import option_table, parse_options
from spark_connectors.options.read import ReadFrom, ReadOptions
from spark_connectors.options.write import OverwriteScope, WriteOptions

__all__ = [
    "ConnectionOptions",
    "OverwriteScope",
    "ReadFrom",
    "ReadOptions",
    "WriteOptions",
    "option_table",
    "parse_options",
]
