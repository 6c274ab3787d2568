"""What is shown of an S3 server's errors; S3 itself is tested with a real server."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from controller_client.errors import SourceError
from controller_client.filestore import open_store
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

_ECHO = (
    "<Error><Code>AccessDenied{}</Code><Message>key hush-access, secret hush-secret</Message>"
    "<StringToSign>Authorization: hush-secret</StringToSign></Error>"
)
_LISTING = (
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated>'
    "<Contents><Key>in/a</Key><Size>1</Size><ETag>x</ETag><LastModified>2026-01-01T00:00:00Z</LastModified>"
    "</Contents></ListBucketResult>"
)
_NOT_DELETED = (
    "<DeleteResult><Error><Key>in/a</Key><Code>hush-secret</Code><Message>hush-secret</Message></Error>"
    "</DeleteResult>"
)
_XML = {"Content-Type": "application/xml"}


def test_credentials_echoed_by_the_server_are_never_shown() -> None:
    with ScriptedServer(
        answer(403, _ECHO.format(""), _XML),
        answer(403, _ECHO.format(" hush-secret" * 1000), _XML),
        answer(200, _LISTING, _XML),
        answer(200, _NOT_DELETED, _XML),
    ) as server:
        properties = {
            "region": "us-east-1",
            "endpoint": f"http://me:hush-url@{urlsplit(server.url).netloc}",
            "accessKey": "hush-access",
            "secretKey": "hush-secret",
        }
        store = open_store("s3://bucket/in/", properties)
        shown = repr(store)
        for call in (store.size_bytes, lambda uri: list(store.list(uri)), store.delete_tree):
            with pytest.raises(SourceError) as caught:
                call("s3://bucket/in/a")
            shown += str(caught.value)
            assert len(str(caught.value)) < 1000
    assert "hush" not in shown
    assert "AccessDenied" in shown
