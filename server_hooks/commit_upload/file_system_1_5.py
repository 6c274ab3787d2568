"""Intercepts uploads through Pinot 1.5's own extension point for file systems; Java: ``v1_5.upload``.

A commit copies its tar to ``<store>/<table>/<segment>.tmp.<uuid>``, also for pauseless tables. Our file
system wraps the one that is configured for the store's scheme, and passes such a copy to Python. It throws an
``IOException`` to let the commit continue without the upload. All other calls, among them uploads that the
controller requests later, go straight to the configured file system.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jpype

from controller_client.common.redaction import mask_text
from controller_client.errors import ConfigError
from jvm_bridge.java_interface import overrides
from server_hooks.commit_upload.uploads import Upload
from server_hooks.extension_points import has_class, load_classes

__all__ = ["has_extension_point", "install"]

_PACKAGE = "io.pinotplugins.v1_5.upload"
_OURS = f"{_PACKAGE}.StoreFileSystem"
_UPLOADS = f"{_PACKAGE}.CommitUploads"
_BASE = "org.apache.pinot.spi.filesystem.NoClosePinotFS"
_CLASS_KEY = "pinot.server.storage.factory.class"
_BUILT_IN = {"file": "org.apache.pinot.spi.filesystem.LocalPinotFS"}
"""File systems that need no configuration, by scheme."""


def has_extension_point() -> bool:
    """Return whether this Pinot has the class that our file system extends, without loading it."""
    return has_class(_BASE)


def install(configuration: Any, store_uri: str, upload: Upload) -> None:
    """Wrap the store's file system, and pass the uploads of commits to a function; call it before the start.

    Args:
        configuration: The server's ``PinotConfiguration``; our class is set in it.
        store_uri: Where commits upload to.
        upload: Called in a thread of Pinot's uploader; must not raise.

    Raises:
        UnsupportedError: The hook does not support this version of Pinot.
        ConfigError: The server has no file system for the store.
        SetupError: This Java has no compiler.
    """
    scheme = urlsplit(store_uri).scheme
    key = f"{_CLASS_KEY}.{scheme}"
    named = configuration.getProperty(key, _BUILT_IN.get(scheme, "")) if scheme else ""
    if not named:
        raise ConfigError(
            f"the server has no file system for its segment store {mask_text(store_uri)}",
            where=key if scheme else "pinot.server.instance.segment.store.uri",
            expected="the class of a file system, e.g. org.apache.pinot.plugin.filesystem.S3PinotFS for s3",
            remedy="set this property, or remove the segment store from the configuration",
        )
    load_classes(
        _PACKAGE,
        otherwise="the hook commit-upload does not support the way this version of Pinot uploads segments",
        expected="Pinot 0.11, or 1.3 to 1.5",
        remedy="run the server without the hook commit-upload",
    )
    uploads = jpype.JObject(_Uploads(upload), jpype.JClass(_UPLOADS))
    jpype.JClass(_OURS).install(str(named), uploads)
    configuration.setProperty(key, _OURS)


@jpype.JImplements(_UPLOADS, deferred=True)
class _Uploads:
    def __init__(self, upload: Upload) -> None:
        self._upload = upload

    @overrides
    def upload(self, tar: Any, table: Any, segment: Any, target: Any) -> bool:
        """Upload a tar; called by ``StoreFileSystem.java`` in a thread of Pinot's uploader."""
        return self._upload(Path(str(tar)), str(table), str(segment), str(target))
