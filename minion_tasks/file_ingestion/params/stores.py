"""The stores of a task's folders, each opened once."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.filestore import FileStore, open_store, scheme_of

__all__ = ["TaskStores"]


class TaskStores:
    """Opens the stores of one task and keeps them; for one thread.

    Opening one checks scheme, class and property names; nothing is contacted.

    Args:
        input_uri: The source folder.
        input_fs: Properties of its file system.
        output_fs: Properties of the staging folder's.
        input_class: Class of the source's file system, if it is set: it must fit.
        output_class: That of the staging folder's.

    Raises:
        ConfigError: The source's store cannot be opened.

    Attributes:
        source: The store of the source folder.
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
        self.source: FileStore = open_store(input_uri, input_fs, class_name=input_class, key="inputDirURI")
        self._input_scheme = scheme_of(input_uri)
        self._input_fs = input_fs
        self._output_fs = output_fs
        self._output_class = output_class
        self._staging: dict[str, FileStore] = {}

    def output(self, uri: str) -> FileStore:
        """Open the store of ``outputDirURI``; as :meth:`staging`, and its class must fit.

        Raises:
            ConfigError: It cannot be opened.
        """
        return self._of(uri, self._output_class)

    def staging(self, uri: str) -> FileStore:
        """Open the store of a staging folder, with the output's properties or, on a like store, the input's.

        Raises:
            ConfigError: It cannot be opened.
        """
        # A session may have been begun when ``outputDirURI`` was of another scheme.
        return self._of(uri, None)

    def _of(self, uri: str, class_name: str | None) -> FileStore:
        scheme = scheme_of(uri)
        if scheme not in self._staging:
            properties = self._output_fs
            if not properties and scheme == self._input_scheme:
                properties = self._input_fs
            self._staging[scheme] = open_store(uri, properties, class_name=class_name, key="outputDirURI")
        return self._staging[scheme]
