"""What a response of a role contains: JSON of an expected form.

Anything else is an error and never reads as "nothing": something between here and Pinot may have answered in
its place or lost the body.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import requests

from controller_client.errors import NotAppliedError, OutcomeUnknownError

__all__ = ["broken_reply", "has_nothing", "parse_reply", "parse_value"]

_Form = TypeVar("_Form")
_Value = TypeVar("_Value")

_NAMES: dict[type, str] = {dict: "a JSON object", list: "a JSON list", str: "a JSON text"}
_OF_PINOT = "Pinot-Controller-Version"
_SHOWN_CHARACTERS = 200
_READ_BYTES = 10_000


def has_nothing(response: requests.Response) -> bool:
    """Return whether a controller itself answers that there is nothing: without a body, and no body was lost.

    For "nothing" Pinot returns status 204, or 200 without a body and its type, depending on the version.
    """
    headers = response.headers
    is_empty = not response.content and headers.get("Content-Length", "0") == "0"
    return is_empty and _OF_PINOT in headers and "Content-Type" not in headers


def parse_reply(
    response: requests.Response,
    form: type[_Form],
    *,
    clean: Callable[[str], str],
    key: str | None = None,
    loads: Callable[[bytes], Any] = json.loads,
    reads: bool | None = None,
) -> _Form:
    """Parse a response, which must not be empty.

    Args:
        response: The response, with a status of success.
        form: ``dict``, ``list`` or ``str``.
        clean: Removes credentials from text.
        key: Return the value of this key of a JSON object, in that form; None: the whole document.
        loads: Parser; raises ValueError if the content is not JSON.
        reads: Whether the call only reads; default: true for GETs.

    Raises:
        NotAppliedError: It has another form, and the call only reads.
        OutcomeUnknownError: It has another form, so it may come from something other than Pinot.
    """
    reads = response.request.method == "GET" if reads is None else reads
    expected = _NAMES[form] if key is None else f"a JSON object with {key!r}: {_NAMES[form]}"
    try:
        document = loads(response.content)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise broken_reply(response, expected, clean=clean, reads=reads) from error
    value = document
    if key is not None:
        value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, form):
        raise broken_reply(response, expected, clean=clean, reads=reads)
    return value


def parse_value(
    response: requests.Response,
    form: type[_Form],
    make: Callable[[_Form], _Value],
    *,
    clean: Callable[[str], str],
    key: str | None = None,
    reads: bool | None = None,
) -> _Value:
    """Parse a response and make a value of it; JSON that lacks what the value needs is no answer of Pinot's.

    Args:
        response: See :func:`parse_reply`, as all others.
        form: The form of the document.
        make: Makes the value; may raise whatever a wrong key, type or number raises.
        clean: Removes credentials from text.
        key: The part of a JSON object to use.
        reads: Whether the call only reads.

    Raises:
        NotAppliedError: See :func:`parse_reply`.
        OutcomeUnknownError: See :func:`parse_reply`.
    """
    document = parse_reply(response, form, clean=clean, key=key, reads=reads)
    try:
        return make(document)
    except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        reads = response.request.method == "GET" if reads is None else reads
        raise broken_reply(response, "the document of this call", clean=clean, reads=reads) from error


def broken_reply(
    response: requests.Response, expected: str, *, clean: Callable[[str], str], reads: bool
) -> NotAppliedError | OutcomeUnknownError:
    """Return the error for a response in another form than the expected one."""
    shown = clean(response.content[:_READ_BYTES].decode(errors="replace"))[:_SHOWN_CHARACTERS]
    kind = NotAppliedError if reads else OutcomeUnknownError
    return kind(
        f"the response is not what Pinot returns: {shown!r}" if shown else "the response is empty",
        expected=f"{expected} from a Pinot role",
        where=clean(response.url),
        remedy="check that the address has the role's own port, and that no proxy answers in its place",
        http_status=response.status_code,
    )
