"""The staging folder, where a session's segments are stored until the switch adds them to the table."""

from __future__ import annotations

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.publishing.staged_segment import STAGING_FOLDER
from minion_tasks.file_ingestion.params.patterns import path_of
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams


def staging_root(params: FileIngestionParams, client: ControllerClient) -> str:
    """Return the folder in which sessions of this cluster stage their segments.

    It is a dedicated subfolder of ``outputDirURI`` or of the controller's deep store, since everything in it
    is deleted. From a staging folder on the same store, the controller copies segments to their final
    location.

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


def session_uri(root: str, table: TableName, session_id: str) -> str:
    """Return a session's own folder."""
    return f"{root}/{table}/{session_id}"


def is_session_folder(uri: str, table: TableName, session_id: str) -> bool:
    """Return whether a URI is a session's own folder, wherever the staging folder was when it started."""
    return uri.endswith(session_uri(f"/{STAGING_FOLDER}", table, session_id))
