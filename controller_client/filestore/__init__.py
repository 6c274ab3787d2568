"""Stores for source files and staged segments: local folders, S3 and, through fsspec, GCS, Azure and HDFS.

``open_store`` chooses the store by the URI's scheme; a store is thread-safe and keeps no state between calls.
"""

from controller_client.filestore.base import FileInfo, FileStore, FolderMissingError, SourceChangedError
from controller_client.filestore.choose import OpenStores, check_store, open_store, scheme_of, store_key

__all__ = [
    "FileInfo",
    "FileStore",
    "FolderMissingError",
    "OpenStores",
    "SourceChangedError",
    "check_store",
    "open_store",
    "scheme_of",
    "store_key",
]
