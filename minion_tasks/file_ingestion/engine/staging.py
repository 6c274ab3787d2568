"""Where a session's segments wait, built but unknown to the controller, until the switch."""

from __future__ import annotations

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.publishing.staged_segment import STAGING_FOLDER
from minion_tasks.file_ingestion.params.patterns import path_of
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams


def staging_root(params: FileIngestionParams, client: ControllerClient) -> str:
    """Return the folder below which sessions of this cluster stage their segments.

    It is a folder of its own, since all in it is deleted, in ``outputDirURI`` or in the controller's deep
    store: on the same store, the controller copies a staged segment to its final location.

    Raises:
        ConfigError: ``outputDirURI`` is not set and the controller does not report where its deep store is,
            or the input lies in the staging folder.
    """
    place = params.output_dir_uri or client.cluster.deep_store_uri()
    if place is None:
        raise ConfigError(
            "there is no folder to stage segments in: outputDirURI is not set, and the controller does not "
            "report its data directory",
            remedy="set outputDirURI to a folder that all minions and the controller can reach",
        )
    root = f"{place.rstrip('/')}/{STAGING_FOLDER}"
    if is_below(params.input_dir_uri, root):
        raise ConfigError(
            f"inputDirURI {params.input_dir_uri} is inside the staging folder {root}, from which leftovers "
            f"are deleted",
            remedy="move the files elsewhere, or set another outputDirURI",
        )
    return root


def is_below(uri: str, folder_uri: str) -> bool:
    """Return whether a URI is a folder's own or names something in it."""
    return f"{path_of(uri).rstrip('/')}/".startswith(f"{path_of(folder_uri).rstrip('/')}/")


def session_uri(root: str, table: TableName, session_id: str) -> str:
    """Return a session's own folder."""
    return f"{root}/{table}/{session_id}"


def is_session_folder(uri: str, table: TableName, session_id: str) -> bool:
    """Return whether a URI is a session's own folder, wherever the staging folder was when it began."""
    return uri.endswith(session_uri(f"/{STAGING_FOLDER}", table, session_id))
