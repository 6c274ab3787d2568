"""Segments' tars: read without trusting them, verified by checksums of their content, unpacked and written.

Nothing here contacts a cluster.
"""

from controller_client.segment_tar.content import content_crc
from controller_client.segment_tar.described import ColumnValues, DescribedSegment, describe_tar
from controller_client.segment_tar.names import file_name_of
from controller_client.segment_tar.proof import ExpectedSegment, Proof, Verdict, digest_of_data, judge_copy
from controller_client.segment_tar.reader import TarLimits
from controller_client.segment_tar.unpacking import on_this_disk, repack, unpack_tar
from controller_client.segment_tar.writer import write_files, write_tar

__all__ = [
    "ColumnValues",
    "DescribedSegment",
    "ExpectedSegment",
    "Proof",
    "TarLimits",
    "Verdict",
    "content_crc",
    "describe_tar",
    "digest_of_data",
    "file_name_of",
    "judge_copy",
    "on_this_disk",
    "repack",
    "unpack_tar",
    "write_files",
    "write_tar",
]
