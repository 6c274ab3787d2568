"""Where in Pinot the uploads of commits are taken over: one place a range of versions."""

from __future__ import annotations

from typing import Any

from server_hooks.commit_upload import file_system_1_5
from server_hooks.commit_upload.uploads import Upload

__all__ = ["take_place"]


def take_place(configuration: Any, store_uri: str, upload: Upload) -> None:
    """Have a function do all uploads of commits; before the server starts.

    Args:
        configuration: The server's ``PinotConfiguration``.
        store_uri: Where commits upload to.
        upload: Called in a thread of Pinot's, the segment's consumer or its uploader; must not raise.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or the class that is changed is in use already.
        ConfigError: The server has no file system for the store.
        SetupError: This Java has no compiler.
    """
    if file_system_1_5.have_plug_in_point():
        file_system_1_5.install(configuration, store_uri, upload)
        return
    from server_hooks.commit_upload import uploader_0_11

    uploader_0_11.install(store_uri, upload)
