"""Pinot 0.11's ``PinotFSSegmentUploader``, whose work is handed to Python.

A commit makes an uploader of its own each time, so there is no object to replace. Its class is changed before
it is loaded, by the Javassist that is among Pinot's jars: ``uploadSegment`` calls ``CommitUploader.java``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jpype

from controller_client.common.redaction import mask_text
from jvm_bridge.changed_classes import ChangedClasses, changing
from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.java_interface import overrides

__all__ = ["copy_by_pinot", "delete_by_pinot", "install"]

_REALTIME = "org.apache.pinot.core.data.manager.realtime"
_INTERFACE = f"{_REALTIME}.SegmentUploader"
_CLASS = f"{_REALTIME}.PinotFSSegmentUploader"
_PACKAGE = "io.pinotplugins.v0_11.upload"
_UPLOADER = f"{_PACKAGE}.CommitUploader"


def install(upload: Callable[[Path, str, str], str | None]) -> None:
    """Have all uploads of commits done by a function; before Pinot loads its class.

    Args:
        upload: Given the tar, the table without type and the segment's name, returns the uri or None; called
            in the consumer thread of the segment; must not raise.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or the class is in use already.
        SetupError: This Java has no compiler.
    """
    with changing(
        "uploads of commits cannot be taken over in this version of Pinot",
        remedy="run the server without the hook commit-upload",
    ):
        load_java(JavaSources.of("server_hooks", _PACKAGE))
        jpype.JClass(_UPLOADER).install(jpype.JObject(_Uploader(upload), jpype.JClass(_INTERFACE)))
        classes = ChangedClasses(_INTERFACE)
        changed = classes.get(_CLASS)
        changed.getDeclaredMethod("uploadSegment").setBody(f"{{ return {_UPLOADER}.upload($1, $2); }}")
        classes.load(changed)


def copy_by_pinot(file: Path, uri: str) -> None:
    """Copy a file to a store with Pinot's own file system, as the server is configured for it.

    Raises:
        OSError: It failed; with Pinot's reason.
    """
    with _pinot_errors():
        file_system, target = _file_system(uri)
        file_system.copyFromLocalFile(jpype.JClass("java.io.File")(str(file)), target)


def delete_by_pinot(uri: str) -> None:
    """Delete an object of a store; errors as of :func:`copy_by_pinot`."""
    with _pinot_errors():
        file_system, target = _file_system(uri)
        file_system.delete(target, True)


def _file_system(uri: str) -> tuple[Any, Any]:
    target = jpype.JClass("java.net.URI")(uri)
    factory = jpype.JClass("org.apache.pinot.spi.filesystem.PinotFSFactory")
    return factory.create(target.getScheme()), target


@contextmanager
def _pinot_errors() -> Iterator[None]:
    try:
        yield
    except jpype.JException as error:
        raise OSError(mask_text(str(error))) from error


@jpype.JImplements(_INTERFACE, deferred=True)
class _Uploader:
    def __init__(self, upload: Callable[[Path, str, str], str | None]) -> None:
        self._upload = upload

    @overrides
    def uploadSegment(self, file: Any, name: Any) -> Any:  # noqa: N802  # Java's name
        """Upload; called by the commit in the segment's consumer thread."""
        uri = self._upload(
            Path(str(file.getAbsolutePath())), str(name.getTableName()), str(name.getSegmentName())
        )
        return None if uri is None else jpype.JClass("java.net.URI")(uri)
