"""The deep store through Pinot's own file systems, as configured for the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jpype

from controller_client.common.redaction import mask_text
from jvm_bridge.java_errors import JAVA_ERRORS, text_of

__all__ = ["PinotStore"]


class PinotStore:
    """See :class:`~server_hooks.commit_upload.store.Store`; usable once the server has started."""

    def put(self, file: Path, uri: str) -> None:
        """Copy a file to the store."""
        with _pinot_errors():
            _file_system(uri).copyFromLocalFile(jpype.JClass("java.io.File")(str(file)), _uri(uri))

    def fetch(self, uri: str, file: Path) -> None:
        """Copy an object from the store."""
        with _pinot_errors():
            _file_system(uri).copyToLocalFile(_uri(uri), jpype.JClass("java.io.File")(str(file)))

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""
        with _pinot_errors():
            if not _file_system(target).copy(_uri(source), _uri(target)):
                raise OSError(f"cannot copy {mask_text(source)} to {mask_text(target)}")

    def move(self, source: str, target: str) -> bool:
        """Move an object within the store; returns False if the target exists."""
        with _pinot_errors():
            return bool(_file_system(target).move(_uri(source), _uri(target), False))

    def delete(self, uri: str) -> None:
        """Delete an object."""
        with _pinot_errors():
            _file_system(uri).delete(_uri(uri), True)


def _uri(uri: str) -> Any:
    return jpype.JClass("java.net.URI")(uri)


def _file_system(uri: str) -> Any:
    return jpype.JClass("org.apache.pinot.spi.filesystem.PinotFSFactory").create(_uri(uri).getScheme())


@contextmanager
def _pinot_errors() -> Iterator[None]:
    try:
        yield
    except JAVA_ERRORS as error:
        raise OSError(mask_text(text_of(error))) from error
