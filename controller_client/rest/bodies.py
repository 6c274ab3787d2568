"""HTTP responses with files as bodies, and redirects to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from urllib.parse import urljoin

import requests
import urllib3

from controller_client.common.parsing import whole_number
from controller_client.common.reply_limits import MAX_ERROR_BYTES
from controller_client.errors import DataError, RejectedError

__all__ = ["Download", "beginning_of", "path_within", "redirect_of", "text_of", "words_of", "write_body"]

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Download:
    """The result of one GET of a file.

    Attributes:
        size_bytes: Bytes written.
        redirect: Address that the response redirects to, in which case nothing was written; else None.
    """

    size_bytes: int
    redirect: str | None = None


def redirect_of(response: requests.Response, where: str) -> str:
    """Return the address that a response redirects to.

    Args:
        response: A redirect.
        where: The call, without credentials.

    Raises:
        RejectedError: The address is invalid.
    """
    try:
        return urljoin(response.url, response.headers["Location"])
    except ValueError:
        raise RejectedError("the response redirects to an invalid address", where=where) from None


def path_within(base_url: str, url: str, where: str) -> str:
    """Return path and query of an address that a response redirects to.

    Args:
        base_url: The address that the credentials belong to, without a trailing slash.
        url: The redirect's target.
        where: The call, without credentials.

    Raises:
        RejectedError: It is not below the base address, so it must not get the credentials.
    """
    if not url.startswith(base_url + "/"):
        raise RejectedError(
            "the response redirects to another host, which must not get the credentials",
            where=where,
            remedy="use the address that it redirects to, if it belongs to the cluster",
        )
    return url[len(base_url) :].partition("#")[0]


def text_of(response: requests.Response) -> str:
    """Return the body of an error response; empty if it is not an error or cannot be read."""
    if response.ok:
        return ""
    try:
        # Not its text, for which requests guesses the encoding: that takes seconds for some bodies.
        return response.content.decode(errors="replace")
    except requests.RequestException:
        return ""


def words_of(body: str) -> str:
    """Extract a role's message from an error's body: its JSON ``error`` or ``message``, or plain text."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        for key in ("error", "_error", "message"):
            if isinstance(answer.get(key), str):
                return str(answer[key])
    if body.lstrip().startswith("<"):
        # Grizzly's or a proxy's page: its title and text without the markup.
        return " ".join(" ".join(_outside_tags(body)).split())
    return body


def _outside_tags(page: str) -> Iterator[str]:
    """Yield the texts between the tags of a page, without style sheets, in one pass."""
    at = 0
    has_style_end = True
    while (begin := page.find("<", at)) >= 0:
        end = -1
        if has_style_end and page.startswith("<style", begin):
            end = page.find("</style>", begin)
            has_style_end = end >= 0
            end += len("</style>") if has_style_end else 0
        if end < 0:
            end = page.find(">", begin) + 1
            if not end:
                break
        yield page[at:begin]
        at = end
    yield page[at:]


def beginning_of(response: requests.Response) -> str:
    """Return what :func:`text_of` returns, for a response whose body has not been read yet."""
    if response.ok:
        return ""
    try:
        raw: bytes = response.raw.read(MAX_ERROR_BYTES, decode_content=False)
    except urllib3.exceptions.HTTPError:
        return ""
    return raw.decode(errors="replace")


def write_body(response: requests.Response, target: IO[bytes], where: str, max_bytes: int | None) -> int:
    """Stream an unread body to a file.

    Args:
        response: The response.
        target: An open file.
        where: The call, without credentials.
        max_bytes: Maximum number of bytes to write; None: no limit.

    Returns:
        Bytes written.

    Raises:
        DataError: The body is longer.
        requests.RequestException: The connection broke.
    """
    size_bytes = whole_number(response.headers.get("Content-Length")) or 0
    written = 0
    try:
        while True:
            if max_bytes is not None and max(size_bytes, written) > max_bytes:
                raise DataError(f"the file is larger than the allowed {max_bytes:,} bytes", where=where)
            piece: bytes = response.raw.read(_PIECE_BYTES, decode_content=False)
            if not piece:
                return written
            written += target.write(piece)
    except urllib3.exceptions.HTTPError as fault:
        raise requests.exceptions.ChunkedEncodingError(fault) from fault
