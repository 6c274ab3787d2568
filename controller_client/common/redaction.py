"""Determines which settings are secret, and masks secrets in text that is shown or stored.

A setting is secret by its key; a value in which a secret can be recognized (a URL with credentials, an
authorization, a private key) is secret whatever its key. Foreign text (a response, a Java exception, a log
line) is searched for such keys with their values, and for known secrets in every form in which a peer may
return them. For the values of a whole document, see `common.secret_fields`.
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
    r"(?:(?i:secret|passw(?:or)?d|passphrase|passcode|token|credentials?(?!\w*provider)|jaas|user[._-]?info"
    r"|(?:amz-|shared[._-]?access[._-]?)signature"
    r"|(?:access|account|api|client|encryption|gcp|private|shared)[._-]?key|keystore[._-]key|connection[._-]?string)"
    # Whole words of a key: neither PWD, the shell's folder, nor "bypass".
    r"|(?<=[._-])(?i:pwd|pass)(?![a-zA-Z0-9])|(?<=[a-z0-9])Pwd(?![a-z]))"
)
# In a text, "authorization:" is followed by a scheme, which has its own pattern.
_SECRET_KEY = re.compile(rf"{_KEYWORDS}|^(?:pwd|pass)$|(?i:authorization)$")

# Of bounded length: otherwise the search would be quadratic in the length of a word.
_KEY = r"(?<![\w.$-])(?!(?i:tokens?)\s*:)[\w.$-]{0,100}" + _KEYWORDS + r"[\w.$-]{0,100}"

SECRETS_IN_TEXT = (
    # "key: KEY , value: VALUE" to the end of the line, as Pinot's roles list their configuration.
    rf"({_KEY}\s*,\s*value:\s*)[^\r\n]+"
    # KEY=VALUE, "KEY": "VALUE", KEY -> VALUE; not "Unexpected token: FROM", nor a comparison, KEY == VALUE.
    rf"""|({_KEY}\\?["']?\s*(?:=(?!=)|:|->)\s*)"""
    # Possessive, because otherwise Java's search would need a stack as deep as the value is long.
    r"""(?:\\"[^"\\\r\n]*+(?:\\")?|"(?:[^"\\\r\n]|\\.)*+"?|'[^'\r\n]*+'?|[^\s,;&)\]}"'\\]+)"""
    r"|(\b(?i:Basic|Bearer|Digest|Negotiate)\s+)(?=\S+?[A-Z0-9=])[\w+/=.~-]{6,}"
    r"""|(://)[^/@\s"']+(?=@)"""
    # The signature of a signed URL; a private key in PEM, to its end; a JSON web token.
    r"""|([?&;]sig=)[^&\s"'<>]+"""
    r"|(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?:[^-]++|-(?!----END))*+"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"
)
"""Pattern of secrets in text, for Python and Java; each alternative but the last has a group before
the secret."""

MASKED_IN_JAVA = f"$1$2$3$4$5$6{MASK}"
"""Replacement of :data:`SECRETS_IN_TEXT` for Java's ``Matcher.replaceAll``."""

_IN_TEXT = re.compile(SECRETS_IN_TEXT)


def is_secret(key: str, *values: str | None) -> bool:
    """Return whether a setting must not be shown or stored: by its key, or by the content of a value."""
    return _SECRET_KEY.search(key) is not None or any(
        value is not None and mask_text(value) != value for value in values
    )


def masked(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings for display: the values of secret keys, and credentials in URLs, are masked."""
    return {key: MASK if is_secret(key) else mask_text(value) for key, value in settings.items()}


def mask_text(text: str) -> str:
    """Mask what looks secret in a text: values of secret keys, authorization, credentials in URLs, keys."""
    return _IN_TEXT.sub(rf"\1\2\3\4\5\6{MASK}", text)


class Redactor:
    """Masks known secrets in text, in all forms in which a peer may return them.

    Args:
        secrets: The secrets, e.g. a password and ``user:password``; empty ones are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = set(chain.from_iterable(map(_forms, secrets)))
        # Longest first: a form may be a prefix of another.
        words = sorted((re.escape(form) for form in forms if form), key=len, reverse=True)
        self._known = re.compile("|".join(words)) if words else None

    def __repr__(self) -> str:
        return "Redactor()"

    def __call__(self, text: str) -> str:
        """Return a text with known secrets, and anything that looks like one, masked."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return mask_text(text)


def _forms(secret: str) -> Iterable[str]:
    """Yield the secret itself, percent-encoded, as JSON or HTML text, and in Base64."""
    data = secret.encode("utf-8", "surrogateescape")
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
    yield from (secret, html.escape(secret), html.escape(secret, quote=False))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        # Without padding: the text starts like this with or without it.
        yield encoded.decode().rstrip("=")
