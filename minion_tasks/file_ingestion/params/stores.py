"""The stores of a task's folders, each opened once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from controller_client.common.operator_secrets import resolve_options
from controller_client.common.references import has_reference
from controller_client.filestore import FileStore, check_store, open_store, scheme_of, store_key

__all__ = ["INPUT_FS", "OUTPUT_FS", "TaskStores"]

INPUT_FS, OUTPUT_FS = "input.fs.prop.", "output.fs.prop."
"""Prefixes of file system properties: for the source and for the staging folder."""


class TaskStores:
    """Opens the stores of one task and caches them; for one thread.

    References in properties are resolved when a store is opened, in the process that uses it. Scheme, class
    and property names are checked earlier. No connection is made.

    Args:
        input_uri: The source folder.
        input_fs: Properties of its file system, with unresolved references.
        output_fs: Properties of the staging folder's file system.
        input_class: Class of the source's file system, if set; must match its scheme.
        output_class: Class of the staging folder's file system.

    Raises:
        ConfigError: The source's store cannot be opened.
    """

    def __init__(
        self,
        input_uri: str,
        input_fs: Mapping[str, str],
        output_fs: Mapping[str, str],
        *,
        input_class: str | None = None,
        output_class: str | None = None,
    ) -> None:
        self._input_uri = input_uri
        self._input_scheme = scheme_of(input_uri)
        self._input_fs = input_fs
        self._output_fs = output_fs
        self._output_class = output_class
        self._staging: dict[str, FileStore] = {}
        check_store(input_uri, input_fs, class_name=input_class, key="inputDirURI")
        if _opens_alone(input_uri, input_fs):
            self.source  # noqa: B018 - reports invalid properties as an error of the parameters

    @cached_property
    def source(self) -> FileStore:
        """The store of the source folder.

        Raises:
            ConfigError: A reference cannot be resolved here, or its value is invalid.
        """
        return open_store(self._input_uri, resolve_options(self._input_fs, INPUT_FS), key="inputDirURI")

    def check_output(self, uri: str) -> None:
        """Check ``outputDirURI`` and its class.

        Raises:
            ConfigError: Its store cannot be opened.
        """
        properties, _ = self._properties(scheme_of(uri))
        check_store(uri, properties, class_name=self._output_class, key="outputDirURI")
        if _opens_alone(uri, properties):
            self.staging(uri)

    def staging(self, uri: str) -> FileStore:
        """Open the store of a staging folder, with the output's properties or, if none are set, the input's.

        Raises:
            ConfigError: It cannot be opened, or a reference cannot be resolved here.
        """
        # A session may have started when ``outputDirURI`` had another scheme.
        place = store_key(uri)
        if place not in self._staging:
            properties, prefix = self._properties(scheme_of(uri))
            self._staging[place] = open_store(uri, resolve_options(properties, prefix), key="outputDirURI")
        return self._staging[place]

    def _properties(self, scheme: str) -> tuple[Mapping[str, str], str]:
        if not self._output_fs and scheme == self._input_scheme:
            return self._input_fs, INPUT_FS
        return self._output_fs, OUTPUT_FS


def _opens_alone(uri: str, properties: Mapping[str, str]) -> bool:
    """Whether the store can be opened while parameters are parsed, without resolving or fetching secrets."""
    return scheme_of(uri) in ("file", "s3") and not any(map(has_reference, properties.values()))
