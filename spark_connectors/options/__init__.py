"""Options of ``format("pinot")``: declared once as frozen dataclasses, parsed once, documented from there."""

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
