"""The extension point for the uploads of commits: one for each range of Pinot versions."""

from __future__ import annotations

from typing import Any

from server_hooks.commit_upload import file_system_1_5
from server_hooks.commit_upload.uploads import Upload

__all__ = ["install_extension"]


def install_extension(configuration: Any, store_uri: str, upload: Upload) -> None:
    """Pass all uploads of commits to a function; call it before the server starts.

    Args:
        configuration: The server's ``PinotConfiguration``.
        store_uri: Where commits upload to.
        upload: Called in a Pinot thread, the segment's consumer or its uploader; must not raise.

    Raises:
        UnsupportedError: The hook does not support this version of Pinot, or Pinot has already loaded the
            class that the hook patches.
        ConfigError: The server has no file system for the store.
        SetupError: This Java has no compiler.
    """
    if file_system_1_5.has_extension_point():
        file_system_1_5.install(configuration, store_uri, upload)
        return
    from server_hooks.commit_upload import uploader_0_11

    uploader_0_11.install(store_uri, upload)
