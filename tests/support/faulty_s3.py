"""The tests' S3 server behind a proxy in which tests inject faults, and which counts requests.

Keys of rules and counts are ``bucket/key``; operations are HTTP's methods, and ``LIST``, whose key is the
bucket.
A client repeats what fails with 500 or 503 (up to five times in ``S3Store``); a 403 and a 507 are final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from xml.sax.saxutils import escape

import pytest

from tests.support.faulty_http import FaultyHttp, Request, Rule
from tests.support.s3 import S3Access

__all__ = ["FaultyS3", "faulty_s3"]

_CODES = {
    403: "AccessDenied",
    404: "NoSuchKey",
    500: "InternalError",
    503: "SlowDown",
    507: "XMinioStorageFull",  # AWS' own is never full
}


class FaultyS3(FaultyHttp):
    """The proxy; a context manager.

    Args:
        access: To the real server.
        port: As for `FaultyHttp`.
    """

    def __init__(self, access: S3Access, port: int = 0) -> None:
        super().__init__(access.endpoint, port=port)
        self._sent: Counter[str] = Counter()
        self.access = replace(access, endpoint=self.url)

    def gets(self, key: str) -> int:
        """Return how often an object was requested."""
        return self.count("GET", key)

    def puts(self, key: str) -> int:
        """Return how often objects were sent, copies within the store not counted; ``key`` is a pattern."""
        with self._mutex:
            return sum(count for sent, count in self._sent.items() if fnmatchcase(sent, key))

    def arrived(self, request: Request) -> Rule | None:
        if request.operation == "PUT" and "x-amz-copy-source" not in request.headers:
            with self._mutex:
                self._sent[request.key] += 1
        return super().arrived(request)

    def operation_of(self, method: str, query: Mapping[str, list[str]]) -> str:
        return "LIST" if method == "GET" and "list-type" in query else method

    def error_body(self, status: int, request: Request) -> bytes:
        code = _CODES.get(status, f"Error{status}")
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{code}</Code><Message>of the tests</Message>"
            f"<Resource>/{escape(request.key)}</Resource><RequestId>tests</RequestId></Error>"
        ).encode()


@pytest.fixture
def faulty_s3(s3: S3Access) -> Iterator[FaultyS3]:
    """A proxy for one test in front of the session's S3 server."""
    with FaultyS3(s3) as proxy:
        yield proxy
