"""Builds Pinot segments from files and Arrow tables with Pinot's own segment writer.

The writer is ``SegmentIndexCreationDriverImpl``. It takes rows from Pinot's own record reader (path "pinot"),
or whole columns that Arrow or Avro's library has read (path "arrow", several times faster);
``docs/segments.md`` describes when which is used.

Rooms: ``sources`` reads the formats, ``expressions`` evaluates transforms and filters, ``columnar`` hands
whole columns to Pinot's driver. ``segment_builder`` is the front; ``planning`` chooses the path;
``files_build`` and ``one_file`` put the parts together.
"""

from jvm_bridge.builder.model import BuiltSegment, FileFormat, FilesBuilt, UnreadableFileError
from jvm_bridge.builder.segment_builder import SegmentBuilder
from jvm_bridge.input_rules import ColumnMismatch, InputRules, MissingLimit

__all__ = [
    "BuiltSegment",
    "ColumnMismatch",
    "FileFormat",
    "FilesBuilt",
    "InputRules",
    "MissingLimit",
    "SegmentBuilder",
    "UnreadableFileError",
]
