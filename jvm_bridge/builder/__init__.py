"""Builds Pinot segments from files and Arrow tables with Pinot's own segment writer.

The writer is ``SegmentIndexCreationDriverImpl``. What it reads comes from Pinot's own record reader (path
"pinot") or from a file of rows that Arrow wrote (path "arrow", several times faster); ``docs/segments.md``
describes when which is used.
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
