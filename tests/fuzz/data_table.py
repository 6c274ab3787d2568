"""Answers of servers."""

from __future__ import annotations

from contextlib import suppress

from controller_client.errors import PinotPluginError
from spark_connectors.read.data_table import decode


def parse(data: bytes) -> None:
    with suppress(PinotPluginError):
        for column in decode(data).columns:
            column.validate(full=True)
