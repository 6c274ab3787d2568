"""Bodies of replies."""

from __future__ import annotations

import io

import pytest
import requests
import urllib3

from controller_client.errors import DataError
from controller_client.rest.bodies import write_body


def response(length: str, body: bytes) -> requests.Response:
    made = requests.Response()
    made.headers["Content-Length"] = length
    made.raw = urllib3.HTTPResponse(io.BytesIO(body), preload_content=False)
    return made


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-1", "many", ""])
def test_a_length_that_is_no_number_is_not_known_before_the_end(length: str) -> None:
    target = io.BytesIO()
    assert write_body(response(length, b"abc"), target, "GET /x", 3) == 3
    assert target.getvalue() == b"abc"
    with pytest.raises(DataError, match="larger than the allowed 2 bytes"):
        write_body(response(length, b"abc"), io.BytesIO(), "GET /x", 2)
