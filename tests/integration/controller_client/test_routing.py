"""What brokers route to, on a real cluster."""

from __future__ import annotations

import pytest

from controller_client.client import ControllerClient
from controller_client.errors import WaitTimeoutError
from controller_client.replacement import SegmentReplacement
from controller_client.routing import wait_routed
from tests.integration.controller_client.conftest import BuiltSegment, Content, content_of

pytestmark = pytest.mark.cluster


def names(segments: list[BuiltSegment]) -> list[str]:
    return [segment.name for segment in segments]


def test_after_the_wait_queries_see_the_replacement(
    client: ControllerClient,
    table: str,
    content: Content,
    built: list[BuiltSegment],
    filled: list[BuiltSegment],
) -> None:
    new = built[2:5]
    with SegmentReplacement(client, table, names(filled), names(new)):
        for segment in new:
            client.segments.upload_tar(table, segment.tar)
        with pytest.raises(WaitTimeoutError, match="queries 2 old segments and not 3 new ones"):
            wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=0)
    wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=300)
    assert content.seen() == content_of(new)


def test_a_table_without_segments(client: ControllerClient, table: str) -> None:
    wait_routed(client, table, present=(), absent=["some"], timeout_s=300)
    with pytest.raises(WaitTimeoutError, match="not 1 new ones"):
        wait_routed(client, table, present=["some"], absent=(), timeout_s=0)
