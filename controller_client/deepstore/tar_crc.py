"""The check sum that a segment's tar says it has."""

from __future__ import annotations

import struct
import tarfile
import zlib
from pathlib import Path

from controller_client.errors import DataError

__all__ = ["tar_crc"]

# creation.meta: two longs, the segment's crc and when it was built.
_CREATION_META = struct.Struct(">qq")


def tar_crc(tar_path: Path) -> int:
    """Read the crc out of ``creation.meta``; the whole tar is read, so one that is cut short is noticed.

    Args:
        tar_path: A segment's tar.gz.

    Raises:
        DataError: It is no whole tar.gz, or holds no segment.
    """
    crc: int | None = None
    try:
        with tarfile.open(tar_path, "r|gz") as tar:
            for member in tar:
                if member.isfile() and member.name.rpartition("/")[2] == "creation.meta":
                    file = tar.extractfile(member)
                    crc = _CREATION_META.unpack(file.read() if file else b"")[0]
    except (tarfile.TarError, EOFError, zlib.error, struct.error) as error:
        raise DataError(f"this is no whole tar.gz of a segment: {error}", where=str(tar_path)) from error
    except OSError as error:
        if error.errno is not None:
            raise  # the disk, not the tar
        raise DataError(f"this is no whole tar.gz of a segment: {error}", where=str(tar_path)) from error
    if crc is None:
        raise DataError("this tar.gz holds no creation.meta", expected="a segment", where=str(tar_path))
    return crc
