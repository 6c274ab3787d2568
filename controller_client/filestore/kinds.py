"""The kinds of stores by scheme: those of this package, and those registered by other packages."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

from controller_client.errors import ConfigError
from controller_client.filestore.base import FileStore
from controller_client.filestore.local import LocalStore
from controller_client.filestore.remote import AZURE, GCS, WEBHDFS

__all__ = ["ENTRY_POINT_GROUP", "StoreKind", "kind_of", "property_names", "schemes"]

ENTRY_POINT_GROUP = "pinot_plugins.filestores"
"""Each entry: ``scheme = "module:object"``; the object is a `StoreKind`."""


class StoreKind(Protocol):
    """A kind of store.

    Attributes:
        fs_class: The equivalent PinotFS class, as used in task configurations.
        properties: Names of its properties.
    """

    @property
    def fs_class(self) -> str: ...  # noqa: D102  # see the class
    @property
    def properties(self) -> Sequence[str]: ...  # noqa: D102

    def open(self, uri: str, properties: Mapping[str, str]) -> FileStore:
        """Open the store of a URI's bucket or host; called in any process, with known properties."""
        ...


class _Local:
    fs_class = "org.apache.pinot.spi.filesystem.LocalPinotFS"
    properties = ()

    def open(self, uri: str, _properties: Mapping[str, str]) -> FileStore:
        return LocalStore(uri)


class _S3:
    fs_class = "org.apache.pinot.plugin.filesystem.S3PinotFS"
    properties = ("region", "endpoint", "accessKey", "secretKey")

    def open(self, _uri: str, properties: Mapping[str, str]) -> FileStore:
        # boto3 takes 200 ms to import, and other stores do not need it
        from controller_client.filestore.s3 import S3Store

        return S3Store(properties)


_KINDS: Mapping[str, StoreKind] = {
    "file": _Local(),
    "s3": _S3(),
    "gs": GCS,
    "abfss": AZURE,
    "abfs": AZURE,
    "webhdfs": WEBHDFS,
}


def schemes() -> Sequence[str]:
    """Return the schemes with a store."""
    return sorted({*_KINDS, *_registered()})


def kind_of(scheme: str) -> StoreKind | None:
    """Return the kind of store for a scheme; those of this package take precedence.

    Raises:
        ConfigError: The package that registers it cannot be loaded.
    """
    if scheme in _KINDS or scheme not in _registered():
        return _KINDS.get(scheme)
    entry = _registered()[scheme]
    try:
        kind: StoreKind = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the store of {scheme}: cannot be loaded from {entry.value}: {error}",
            remedy="install the dependencies of the package that registers it",
        ) from error
    return kind


def property_names() -> Sequence[str]:
    """Return the names of all properties of this package's stores."""
    return sorted({name for kind in _KINDS.values() for name in kind.properties})


@cache
def _registered() -> Mapping[str, importlib.metadata.EntryPoint]:
    return {each.name: each for each in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}
