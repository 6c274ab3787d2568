"""The store for a URI."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path

from controller_client.errors import ConfigError, SourceError
from controller_client.filestore.base import FileStore
from controller_client.filestore.local import LocalStore, path_in
from controller_client.filestore.s3_properties import check_properties

FS_CLASSES: Mapping[str, str] = {
    "file": "org.apache.pinot.spi.filesystem.LocalPinotFS",
    "s3": "org.apache.pinot.plugin.filesystem.S3PinotFS",
}
"""Scheme to the PinotFS class of the same meaning, as task configurations name it."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def scheme_of(uri: str) -> str:
    """Return the URI's scheme; a plain path is ``file``."""
    scheme = _SCHEME.match(uri)
    return scheme[1].lower() if scheme else "file"


def check_store(
    uri: str, properties: Mapping[str, str], *, class_name: str | None = None, key: str = "URI"
) -> None:
    """Check what can be checked of a store before the values of its properties are known.

    Args:
        uri: A URI of a supported scheme.
        properties: The ``*.fs.prop.`` entries, without their prefix; their values may be references.
        class_name: The ``*.fs.className`` entry, if set: it must fit the scheme.
        key: The parameter that the URI came from, for the error.

    Raises:
        ConfigError: The scheme is not supported, the class does not fit it, a property is unknown, or a path
            is relative.
    """
    scheme = scheme_of(uri)
    if scheme not in FS_CLASSES:
        raise ConfigError(
            f"{key} has the scheme {scheme!r}: {uri}",
            expected="one of " + ", ".join(f"{name}:" for name in sorted(FS_CLASSES)),
        )
    if class_name is not None and class_name.rpartition(".")[2] != FS_CLASSES[scheme].rpartition(".")[2]:
        raise ConfigError(
            f"the file system class {class_name} does not fit {key} {uri}",
            expected=FS_CLASSES[scheme],
        )
    if scheme == "s3":
        check_properties(properties)
    else:
        _check_path(uri, key)


def open_store(uri: str, properties: Mapping[str, str], *, key: str = "URI") -> FileStore:
    """Open the store for a URI.

    Args:
        uri: As of :func:`check_store`.
        properties: As of that, with their values.
        key: As of that.

    Raises:
        ConfigError: As of that, or the properties make no store together.
    """
    check_store(uri, properties, key=key)
    if scheme_of(uri) == "s3":
        # boto3 takes 200 ms to import and local users need none of it
        from controller_client.filestore.s3 import S3Store

        return S3Store(properties)
    return LocalStore()


class OpenStores:
    """Opens the store of each scheme once, however many URIs there are; threads may share it.

    Args:
        properties: As of :func:`open_store`.
        key: As of that.
    """

    def __init__(self, properties: Mapping[str, str], *, key: str = "URI") -> None:
        self._properties = properties
        self._key = key
        self._lock = threading.Lock()
        self._opened: dict[str, FileStore] = {}

    def __call__(self, uri: str) -> FileStore:
        """Return the store for a URI; errors as of :func:`open_store`."""
        scheme = scheme_of(uri)
        with self._lock:
            found = self._opened.get(scheme)
            if found is None:
                found = self._opened[scheme] = open_store(uri, self._properties, key=self._key)
                return found
        if scheme == "file":
            _check_path(uri, self._key)
        return found


def _check_path(uri: str, key: str) -> None:
    try:
        path = path_in(uri)
    except SourceError as error:
        raise ConfigError(f"{key}: {error.message}", expected=error.expected, remedy=error.remedy) from error
    if not path.startswith("/"):
        raise ConfigError(
            f"{key} is a relative path: {uri}",
            expected="an absolute one: every process that reads or writes there has its own working folder",
            remedy=f"file://{Path(path).absolute()} is what it means in the present folder",
        )
