"""Chooses the store for a URI."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.references import has_reference
from controller_client.common.text import did_you_mean
from controller_client.errors import ConfigError, SourceError
from controller_client.filestore.base import FileStore
from controller_client.filestore.kinds import kind_of, schemes
from controller_client.filestore.local import path_in

_INSTEAD = {
    "hdfs": "use webhdfs://NAMENODE:9870/...: a client of Hadoop's own protocol needs a JVM with its jars"
}

_ENDPOINT = "endpoint"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def scheme_of(uri: str) -> str:
    """Return the URI's scheme; a plain path is ``file``."""
    scheme = _SCHEME.match(uri)
    return scheme[1].lower() if scheme else "file"


def check_store(
    uri: str, properties: Mapping[str, str], *, class_name: str | None = None, key: str = "URI"
) -> None:
    """Check a store's settings as far as possible before the values of its properties are known.

    Args:
        uri: A URI of a supported scheme.
        properties: The ``*.fs.prop.`` entries without their prefix; their values may be references.
        class_name: The ``*.fs.className`` entry, if set: it must match the scheme.
        key: The parameter with the URI, for the error.

    Raises:
        ConfigError: The scheme is not supported, the class does not match it, a property is unknown, a
            reference is used where its value would be shown, or a path is relative.
    """
    scheme = scheme_of(uri)
    kind = kind_of(scheme)
    if kind is None:
        raise ConfigError(
            f"{key} has the scheme {scheme!r}: {uri}",
            expected="one of " + ", ".join(f"{name}:" for name in schemes()),
            remedy=_INSTEAD.get(scheme),
        )
    if class_name is not None and class_name.rpartition(".")[2] != kind.fs_class.rpartition(".")[2]:
        raise ConfigError(
            f"the file system class {class_name} does not match {key} {uri}", expected=kind.fs_class
        )
    if scheme == "file":
        # Properties that this store does not need may be set for another one.
        _check_path(uri, key)
        return
    for name in properties:
        if name not in kind.properties:
            raise ConfigError(
                f"the file system of {scheme}: has no property {name!r}",
                expected="one of " + ", ".join(kind.properties),
                remedy=did_you_mean(name, kind.properties, otherwise="remove it"),
            )
    if has_reference(properties.get(_ENDPOINT, "")):
        # Errors show it, and are stored.
        raise ConfigError(
            f"the property {_ENDPOINT} of the file system of {scheme}: contains a reference",
            expected="a literal address without secrets",
        )


def open_store(uri: str, properties: Mapping[str, str], *, key: str = "URI") -> FileStore:
    """Open the store for a URI.

    Args:
        uri: See :func:`check_store`.
        properties: The store's properties, by name.
        key: The parameter with the URI, for errors.

    Raises:
        ConfigError: As for :func:`check_store`, or the properties do not go together.
    """
    check_store(uri, properties, key=key)
    kind = kind_of(scheme_of(uri))
    assert kind is not None  # noqa: S101 - it was checked
    return kind.open(uri, properties)


def store_key(uri: str) -> str:
    """Return what URIs of the same store have in common: the scheme, possibly with the bucket or host."""
    scheme = scheme_of(uri)
    return scheme if scheme in ("file", "s3") else f"{scheme}://{uri.partition('://')[2].partition('/')[0]}"


class OpenStores:
    """Opens each store once, however many URIs there are; thread-safe.

    Args:
        properties: See :func:`open_store`.
        key: See :func:`open_store`.
    """

    def __init__(self, properties: Mapping[str, str], *, key: str = "URI") -> None:
        self._properties = properties
        self._key = key
        self._lock = threading.Lock()
        self._opened: dict[str, FileStore] = {}

    def __call__(self, uri: str) -> FileStore:
        """Return the store for a URI; raises what :func:`open_store` raises."""
        shared = store_key(uri)
        with self._lock:
            store = self._opened.get(shared)
            if store is None:
                store = self._opened[shared] = open_store(uri, self._properties, key=self._key)
                return store
        if shared == "file":
            _check_path(uri, self._key)
        return store


def _check_path(uri: str, key: str) -> None:
    try:
        path = path_in(uri)
    except SourceError as error:
        raise ConfigError(f"{key}: {error.message}", expected=error.expected, remedy=error.remedy) from error
    if not path.startswith("/"):
        raise ConfigError(
            f"{key} is a relative path: {uri}",
            expected="an absolute path, because each process that uses it has its own working folder",
            remedy=f"in the current folder it means file://{Path(path).absolute()}",
        )
