"""Patches Pinot 0.11's ``PinotFSSegmentUploader`` to call Python.

Each commit creates its own uploader, so there is no object to replace. The class is patched before it is
loaded, with the Javassist in Pinot's jars: ``uploadSegment`` calls ``CommitUploader.java``.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import jpype

from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.java_interface import overrides
from jvm_bridge.patched_classes import PatchedClasses, patching
from server_hooks.commit_upload.uploads import Upload

__all__ = ["install"]

_REALTIME = "org.apache.pinot.core.data.manager.realtime"
_INTERFACE = f"{_REALTIME}.SegmentUploader"
_CLASS = f"{_REALTIME}.PinotFSSegmentUploader"
_PACKAGE = "io.pinotplugins.v0_11.upload"
_UPLOADER = f"{_PACKAGE}.CommitUploader"


def install(store_uri: str, upload: Upload) -> None:
    """Pass all uploads of commits to a function; call it before Pinot loads the uploader's class.

    Args:
        store_uri: Where commits upload to.
        upload: Called in the segment's consumer thread; must not raise.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded the class.
        SetupError: This Java has no compiler.
    """
    with patching(
        "the hook commit-upload cannot intercept uploads in this version of Pinot",
        remedy="run the server without the hook commit-upload",
    ):
        load_java(JavaSources.of("server_hooks", _PACKAGE))
        uploader = _Uploader(store_uri.rstrip("/"), upload)
        jpype.JClass(_UPLOADER).install(jpype.JObject(uploader, jpype.JClass(_INTERFACE)))
        classes = PatchedClasses(_INTERFACE)
        changed = classes.get(_CLASS)
        changed.getDeclaredMethod("uploadSegment").setBody(f"{{ return {_UPLOADER}.upload($1, $2); }}")
        classes.load(changed)


@jpype.JImplements(_INTERFACE, deferred=True)
class _Uploader:
    def __init__(self, store_uri: str, upload: Upload) -> None:
        self._store_uri = store_uri
        self._upload = upload

    @overrides
    def uploadSegment(self, file: Any, name: Any) -> Any:  # noqa: N802  # Java's name
        """Upload a tar; called by the commit in the segment's consumer thread."""
        table, segment = str(name.getTableName()), str(name.getSegmentName())
        uri = f"{self._store_uri}/{table}/{segment}{uuid.uuid4()}"
        if not self._upload(Path(str(file.getAbsolutePath())), table, segment, uri):
            return None
        return jpype.JClass("java.net.URI")(uri)
