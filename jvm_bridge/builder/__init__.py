"""Builds Pinot segments from files and Arrow tables with Pinot's own segment writer.

The writer is ``SegmentIndexCreationDriverImpl``. It gets rows one by one (path "pinot"), or whole columns
that Arrow, the Avro library or our parsers of CSV and JSON lines have read (path "arrow", several times
faster); ``docs/segments.md`` describes when each path is used.

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
