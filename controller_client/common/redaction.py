"""Which settings are secret, and how secrets are taken out of text that is shown or stored.

Whether a setting is secret follows from its key; a value that holds a URL with credentials is secret whatever
its key. Text that others wrote (an answer, a Java exception, a log line) is searched for such keys with their
values, and for what is known to be secret in each form in which a peer may return it.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from urllib.parse import quote, quote_plus

__all__ = ["MASK", "MASKED_IN_JAVA", "SECRETS_IN_TEXT", "Redactor", "is_secret", "mask_text", "masked"]

MASK = "***"

_KEYWORDS = (
    r"(?i:secret|passw(?:or)?d|passphrase|token|credentials?(?!\w*provider)|jaas|user[._-]?info|amz-signature"
    r"|(?:access|account|api|client|encryption|gcp|private|shared)[._-]?key|keystore[._-]key|connection[._-]?string)"
)
_SECRET_KEY = re.compile(_KEYWORDS)
_SECRET_VALUE = re.compile(r"://[^/@\s]+@")

# Of bounded length: the search would else be quadratic in the length of a word.
_KEY = r"(?<![\w.$-])(?!(?i:tokens?)\s*:)[\w.$-]{0,100}" + _KEYWORDS + r"[\w.$-]{0,100}"

SECRETS_IN_TEXT = (
    # "key: KEY , value: VALUE" to the end of the line, as Pinot's roles list their configuration.
    rf"({_KEY}\s*,\s*value:\s*)[^\r\n]+"
    # KEY=VALUE, "KEY": "VALUE", KEY -> VALUE; not "Unexpected token: FROM".
    rf"""|({_KEY}\\?["']?\s*(?:=|:|->)\s*)"""
    # Possessive, since Java's search would else need a stack as deep as the value is long.
    r"""(?:\\"[^"\\\r\n]*+(?:\\")?|"(?:[^"\\\r\n]|\\.)*+"?|'[^'\r\n]*+'?|[^\s,;&)\]}"'\\]+)"""
    r"|(\b(?i:Basic|Bearer|Digest|Negotiate)\s+)(?=\S+?[A-Z0-9=])[\w+/=.~-]{6,}"
    r"""|(://)[^/@\s"']+(?=@)"""
)
"""What is secret in any text, for Python and Java alike: a group before it, in whichever alternative."""

MASKED_IN_JAVA = f"$1$2$3$4{MASK}"
"""What Java's ``Matcher.replaceAll`` puts in the place of :data:`SECRETS_IN_TEXT`."""

_IN_TEXT = re.compile(SECRETS_IN_TEXT)


def is_secret(key: str, *values: str | None) -> bool:
    """Return whether a setting must not be shown or stored: by its key, or for credentials in a URL."""
    return _SECRET_KEY.search(key) is not None or any(
        value is not None and _SECRET_VALUE.search(value) for value in values
    )


def masked(settings: Mapping[str, str]) -> dict[str, str]:
    """Copy settings for showing: the values of secret keys, and credentials in URLs, are masked."""
    return {key: MASK if is_secret(key) else mask_text(value) for key, value in settings.items()}


def mask_text(text: str) -> str:
    """Mask what looks secret in a text: values after secret keys, authorization, credentials in URLs."""
    return _IN_TEXT.sub(rf"\1\2\3\4{MASK}", text)


class Redactor:
    """Takes known secrets out of text in all forms that a peer may return them in.

    Args:
        secrets: The texts themselves, e.g. a password and ``user:password``; empty ones are left out.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = set(chain.from_iterable(map(_forms, secrets)))
        # The longest first: a form may be the beginning of another.
        words = sorted((re.escape(form) for form in forms if form), key=len, reverse=True)
        self._known = re.compile("|".join(words)) if words else None

    def __repr__(self) -> str:
        return "Redactor()"

    def __call__(self, text: str) -> str:
        """Return a text with the known secrets masked, and what looks like one."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return mask_text(text)


def _forms(secret: str) -> Iterable[str]:
    """The secret as it is, percent-encoded, as JSON or HTML text, and in Base64."""
    data = secret.encode("utf-8", "surrogateescape")
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
    yield from (secret, html.escape(secret), html.escape(secret, quote=False))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        # Without the padding: with it or without, the text begins so.
        yield encoded.decode().rstrip("=")
