"""Foreign names (of files, objects), written so that they are nothing but text."""

from __future__ import annotations

import re

__all__ = ["visible"]

# Control characters, line and paragraph separators, marks that change the direction of writing, the
# byte-order mark, and the surrogates in which Python keeps non-UTF-8 bytes of file names.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    r"""Return the text with escapes like ``\n``, ``\x1b``, ``\u202e`` for invisible and control characters.

    A byte of a file name that is not UTF-8 becomes ``\xff``. All other characters stay, so the result can be
    encoded in UTF-8, is one line, and has no side effects in a terminal or on a page.
    """
    return _UNSEEN.sub(lambda match: _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
