"""The properties of S3, apart from the store: they are checked where boto3 need not be there."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.common.nearest import did_you_mean
from controller_client.errors import ConfigError

__all__ = ["PROPERTIES", "check_properties"]

PROPERTIES = ("region", "endpoint", "accessKey", "secretKey")
"""As Pinot's S3PinotFS names them."""


def check_properties(properties: Mapping[str, str]) -> None:
    """Check the names of S3's properties.

    Raises:
        ConfigError: One is unknown.
    """
    for name in properties:
        if name not in PROPERTIES:
            raise ConfigError(
                f"the S3 file system has no property {name!r} here",
                expected="one of " + ", ".join(PROPERTIES),
                remedy=did_you_mean(name, PROPERTIES, otherwise="remove it"),
            )
