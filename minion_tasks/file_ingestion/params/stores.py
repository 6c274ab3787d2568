"""The source of a task and the stores of its folders, each opened once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from controller_client.common.extras import missing_module
from controller_client.common.operator_secrets import resolve_options
from controller_client.common.references import has_reference
from controller_client.errors import ConfigError
from controller_client.filestore import FileStore, check_store, open_store, scheme_of, store_key
from minion_tasks.sources.base import TaskSource, VersionPin
from minion_tasks.sources.folder import FolderSource
from minion_tasks.sources.iceberg_properties import IcebergTable, check_properties

__all__ = ["DELTA", "ICEBERG", "INPUT_FS", "LAKEHOUSES", "OUTPUT_FS", "TaskStores"]

INPUT_FS, OUTPUT_FS = "input.fs.prop.", "output.fs.prop."
"""Prefixes of file system properties: for the source and for the staging folder."""

DELTA, ICEBERG = "delta", "iceberg"
LAKEHOUSES = (DELTA, ICEBERG)
"""Formats of tables, whose units are read in place of files."""

_DELTA_SCHEMES = ("file", "s3")


class TaskStores:
    """Opens the stores of one task and caches them; for one thread.

    References in properties are resolved when a store is opened, in the process that uses it. Scheme, class
    and property names are checked earlier. No connection is made.

    Args:
        input_uri: The source folder, or an Iceberg table.
        input_fs: Properties of its file system, with unresolved references.
        output_fs: Properties of the staging folder's file system.
        input_format: Format of the source.
        pin: The version of a lakehouse table to read; None: the current one.
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
        input_format: str,
        pin: VersionPin | None = None,
        input_class: str | None = None,
        output_class: str | None = None,
    ) -> None:
        self._input_format = input_format
        self._pin = pin
        self._input_uri = input_uri
        self._input_scheme = scheme_of(input_uri)
        self._input_fs = input_fs
        self._output_fs = output_fs
        self._output_class = output_class
        self._input: FileStore | None = None
        self._staging: dict[str, FileStore] = {}
        if input_format == ICEBERG:
            IcebergTable.parse(input_uri)
            check_properties(input_fs)
            return
        check_store(input_uri, input_fs, class_name=input_class, key="inputDirURI")
        if input_format == DELTA and self._input_scheme not in _DELTA_SCHEMES:
            raise ConfigError(
                f"a Delta table cannot be read from {self._input_scheme}:",
                expected="inputDirURI with one of " + ", ".join(f"{scheme}:" for scheme in _DELTA_SCHEMES),
            )
        if _opens_alone(input_uri, input_fs):
            self._open_input(input_fs)  # reports invalid properties as an error of the parameters

    @cached_property
    def source(self) -> TaskSource:
        """The source.

        Raises:
            ConfigError: A reference cannot be resolved here, or its value is invalid.
            SetupError: What reads a lakehouse table is not installed here.
        """
        properties = resolve_options(self._input_fs, INPUT_FS)
        try:
            if self._input_format == ICEBERG:
                from minion_tasks.sources.iceberg import IcebergSource

                return IcebergSource(self._input_uri, properties, self._pin)
            store = self._open_input(properties)
            if self._input_format == DELTA:
                from minion_tasks.sources.delta import DeltaSource

                return DeltaSource(self._input_uri, store, properties, self._pin)
        except ModuleNotFoundError as error:
            needed_by = f"inputFormat {self._input_format}"
            raise missing_module(error, needed_by, (self._input_format,)) from None
        return FolderSource(store, self._input_uri)

    def _open_input(self, properties: Mapping[str, str]) -> FileStore:
        if self._input is None:
            self._input = open_store(self._input_uri, properties, key="inputDirURI")
        return self._input

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
