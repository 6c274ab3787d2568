"""Pinot 1.5's file system of the segments' store: its own plug-in point; Java: ``v1_5.upload``.

A commit copies its tar to ``<store>/<table>/<segment>.tmp.<uuid>``, with pauseless tables too. Ours stands
before the file system that is configured for the store's scheme, and hands such a copy to Python; an
``IOException`` lets the commit go on. What the controller asks for later, and all else, goes straight to the
configured one.
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
from server_hooks.plug_in_points import has_class, load_classes

__all__ = ["have_plug_in_point", "install"]

_PACKAGE = "io.pinotplugins.v1_5.upload"
_OURS = f"{_PACKAGE}.StoreFileSystem"
_UPLOADS = f"{_PACKAGE}.CommitUploads"
_BASE = "org.apache.pinot.spi.filesystem.NoClosePinotFS"
_CLASS_KEY = "pinot.server.storage.factory.class"
_BUILT_IN = {"file": "org.apache.pinot.spi.filesystem.LocalPinotFS"}
"""What Pinot has without a configuration, by scheme."""


def have_plug_in_point() -> bool:
    """Whether this Pinot has the file system that ours extends; loads none."""
    return has_class(_BASE)


def install(configuration: Any, store_uri: str, upload: Upload) -> None:
    """Put ours before the store's file system, and hand it the uploads of commits; before the server starts.

    Args:
        configuration: The server's ``PinotConfiguration``, where ours is named.
        store_uri: Where commits upload to.
        upload: Called in a thread of Pinot's uploader; must not raise.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
        ConfigError: The server has no file system for the store.
        SetupError: This Java has no compiler.
    """
    scheme = urlsplit(store_uri).scheme
    key = f"{_CLASS_KEY}.{scheme}"
    named = configuration.getProperty(key, _BUILT_IN.get(scheme, "")) if scheme else ""
    if not named:
        raise ConfigError(
            f"the server has no file system for its segment store, {mask_text(store_uri)}",
            where=key if scheme else "pinot.server.instance.segment.store.uri",
            expected="the class of one, e.g. org.apache.pinot.plugin.filesystem.S3PinotFS for s3",
            remedy="name it, or take the store out of the configuration",
        )
    load_classes(
        _PACKAGE,
        otherwise="this version of Pinot uploads what it commits otherwise",
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
        """Upload; called by ``StoreFileSystem.java`` in a thread of Pinot's uploader."""
        return self._upload(Path(str(tar)), str(table), str(segment), str(target))
