"""The staging folder, where a session's segments are stored until the switch adds them to the table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.publishing.staged_segment import STAGING_FOLDER
from minion_tasks.file_ingestion.params.patterns import path_of
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams

_KEPT = "kept"
"""Beside the folders of tables, whose names end with their types."""


def staging_root(params: FileIngestionParams, client: ControllerClient) -> str:
    """Return the folder in which sessions stage their segments, those of other clusters included.

    It is a dedicated subfolder of ``outputDirURI`` or of the controller's deep store, since what is left in
    it is deleted. Each cluster stages in a folder of its own there: two clusters may have the same
    ``outputDirURI``, and tables of the same name. From a staging folder on the same store, the controller
    copies segments to their final location.

    Raises:
        ConfigError: ``outputDirURI`` is not set and the controller does not report its deep store, or the
            input is in the staging folder.
    """
    place = params.output_dir_uri or client.cluster.deep_store_uri()
    if place is None:
        raise ConfigError(
            "no folder to stage segments in: outputDirURI is not set, and the controller does not "
            "report its data directory",
            remedy="set outputDirURI to a folder that all minions and the controller can reach",
        )
    root = f"{place.rstrip('/')}/{STAGING_FOLDER}"
    if is_below(params.input_dir_uri, root):
        raise ConfigError(
            f"inputDirURI {params.input_dir_uri} is inside the staging folder {root}, where leftover files "
            "are deleted",
            remedy="move the files elsewhere, or set another outputDirURI",
        )
    return root


def is_below(uri: str, folder_uri: str) -> bool:
    """Return whether a URI names a folder or something in it."""
    return f"{path_of(uri).rstrip('/')}/".startswith(f"{path_of(folder_uri).rstrip('/')}/")


@dataclass(frozen=True)
class TableStaging:
    """Where a table of one cluster is staged: ``<root>/<cluster id>/<table>/<session>``.

    Attributes:
        root: See :func:`staging_root`.
        cluster_id: The cluster's id.
        table: The table.
    """

    root: str
    cluster_id: str
    table: TableName

    @property
    def uri(self) -> str:
        """The folder of the table's sessions; nobody else's are in it."""
        return f"{self.root}/{self.cluster_id}/{self.table}"

    def session_uri(self, session_id: str) -> str:
        """Return a session's own folder."""
        return f"{self.uri}/{session_id}"

    @property
    def kept_uri(self) -> str:
        """The folder of the replaced segments that versions of the table need."""
        return f"{self.root}/{self.cluster_id}/{_KEPT}/{self.table}"

    def earlier_session_uri(self, session_id: str) -> str:
        """Return a session's own folder if release 0.1 started it: without the cluster's id."""
        return f"{self.root}/{self.table}/{session_id}"

    def is_session_folder(self, uri: str, session_id: str) -> bool:
        """Return whether a URI is a session's own folder, wherever the staging folder was when it started."""
        anywhere = replace(self, root=f"/{STAGING_FOLDER}")
        return uri.endswith((anywhere.session_uri(session_id), anywhere.earlier_session_uri(session_id)))
