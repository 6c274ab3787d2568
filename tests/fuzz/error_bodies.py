"""Bodies of error responses, and texts of exceptions within replies."""

from __future__ import annotations

from controller_client.broker.client import without_java
from controller_client.common.redaction import Redactor, mask_text
from controller_client.common.text import visible
from controller_client.rest.bodies import words_of

_REDACT = Redactor(["hush-hush"])


def parse(data: bytes) -> None:
    words = words_of(data.decode(errors="replace"))
    shown = visible(mask_text(_REDACT(without_java(words))))
    assert "hush-hush" not in shown
    shown.encode()
