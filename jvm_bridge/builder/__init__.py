"""Builds Pinot segments from files and Arrow tables with Pinot's own segment writer.

The writer is ``SegmentIndexCreationDriverImpl``. It gets rows from Pinot's own record reader (path "pinot"),
or whole columns that Arrow or the Avro library has read (path "arrow", several times faster);
``docs/segments.md`` describes when each path is used.

Packages: ``sources`` reads the formats, ``expressions`` evaluates transforms and filters, ``columnar`` passes
whole columns to Pinot's driver. ``segment_builder`` is the public interface; ``planning`` chooses the path;
``files_build`` and ``one_file`` combine the parts.
"""

from jvm_bridge.builder.model import BuiltSegment, FilesBuilt, UnreadableFileError
from jvm_bridge.builder.segment_builder import SegmentBuilder
from jvm_bridge.input_rules import ColumnMismatch, FileFormat, InputRules, MissingLimit

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
