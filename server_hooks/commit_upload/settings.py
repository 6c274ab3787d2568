"""The hook's settings in the server's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controller_client.common.redaction import mask_text
from controller_client.errors import ConfigError
from server_hooks.commit_upload.backlog import BacklogLimits

__all__ = ["STORE_KEY", "CommitUploadSettings"]

STORE_KEY = "pinot.server.instance.segment.store.uri"

_DATA_KEY = "pinot.server.instance.dataDir"
_OURS = "pinotPlugins.commitUpload"
_WAIT_KEY = f"{_OURS}.waitMs"
_HOME_KEY = f"{_OURS}.dataDir"
_MAX_BYTES_KEY = f"{_OURS}.backlog.maxBytes"
_MAX_AGE_KEY = f"{_OURS}.backlog.maxAgeMs"
_MIN_FREE_KEY = f"{_OURS}.backlog.minFreeBytes"
_FOLDER = "pythonCommitUploads"


@dataclass(frozen=True)
class CommitUploadSettings:
    """How a server uploads the segments that it commits.

    Attributes:
        store_uri: Where commits upload to.
        final_base_uri: Where Pinot keeps the tables' segments: the controller's data directory.
        folder: The folder of the tars that wait for the store.
        wait_s: How long a commit waits for the store.
        limits: How much may wait, and for how long.
    """

    store_uri: str
    final_base_uri: str
    folder: Path
    wait_s: float
    limits: BacklogLimits

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> CommitUploadSettings | None:
        """Read the settings; returns None if the server has no segment store.

        Raises:
            ConfigError: A value is not a number, or the two URIs have different schemes.
        """
        store_uri = configuration.get(STORE_KEY)
        if not store_uri:
            return None
        final_base_uri = configuration.get(_HOME_KEY, store_uri)
        if urlsplit(final_base_uri).scheme != urlsplit(store_uri).scheme:
            raise ConfigError(
                f"{_HOME_KEY} is {mask_text(final_base_uri)}",
                expected=f"the value of controller.data.dir, in the same store as {mask_text(store_uri)}",
                where=_HOME_KEY,
            )
        defaults = BacklogLimits()
        return cls(
            store_uri,
            final_base_uri,
            Path(configuration[_DATA_KEY]) / _FOLDER,
            _number(configuration, _WAIT_KEY, 5_000, "milliseconds") / 1000,
            BacklogLimits(
                max_bytes=_number(configuration, _MAX_BYTES_KEY, defaults.max_bytes, "bytes"),
                max_age_s=_number(configuration, _MAX_AGE_KEY, int(defaults.max_age_s * 1000), "milliseconds")
                / 1000,
                min_free_bytes=_number(configuration, _MIN_FREE_KEY, defaults.min_free_bytes, "bytes"),
            ),
        )


def _number(configuration: Mapping[str, str], key: str, default: int, unit: str) -> int:
    text = configuration.get(key, str(default))
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigError(f"{key} is {text!r}", expected=f"{unit}, e.g. {default}", where=key)
    return number
