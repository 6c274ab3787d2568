"""What Java's exceptions say, and how its texts are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jpype

from controller_client.common.redaction import mask_text

__all__ = ["JAVA_ERRORS", "causes", "message_of", "root_causes", "text_of"]

JAVA_ERRORS = (jpype.JException, UnicodeDecodeError)
"""What a call of Java raises.

JPype raises UnicodeDecodeError in place of an exception whose message has half of a surrogate pair, as when
Java cuts a text within an emoji.
"""

_MAX_CAUSES = 20
_MAX_TEXTS = 6
_MAX_CHARACTERS = 300


def causes(error: Any) -> Iterator[Any]:
    """Yield a Java exception and its causes, outermost first, up to the first that JPype cannot return.

    Args:
        error: One of :data:`JAVA_ERRORS`.
    """
    if isinstance(error, UnicodeDecodeError):
        return
    cause = error
    for _ in range(_MAX_CAUSES):  # an exception may be its own cause
        yield cause
        try:
            cause = cause.getCause()
        except UnicodeDecodeError:
            return
        if cause is None:
            return


def root_causes(error: Any) -> str:
    """Return the messages of what a call of Java raised and of its causes, outermost first, each once.

    Args:
        error: One of :data:`JAVA_ERRORS`.
    """
    if isinstance(error, UnicodeDecodeError):
        return mask_text(text_of(error))[:_MAX_CHARACTERS]
    texts: list[str] = []
    for cause in causes(error):
        message = cause.getMessage()
        text = str(message).strip().splitlines()[0] if message is not None and str(message).strip() else ""
        name = str(cause.getClass().getSimpleName())
        # An exception that wraps another often repeats its message.
        if not any(text and text in earlier for earlier in texts):
            # Jackson quotes input that it cannot read, including secrets in a table config.
            texts.append(f"{name}: {mask_text(text)[:_MAX_CHARACTERS]}" if text else name)
    return "; ".join(texts[:_MAX_TEXTS])


def message_of(error: Any) -> str:
    """Return the message of what a call of Java raised, without those of its causes.

    Args:
        error: One of :data:`JAVA_ERRORS`.
    """
    return text_of(error if isinstance(error, UnicodeDecodeError) else error.getMessage())


def text_of(value: Any) -> str:
    """Return text to be shown, with replacement characters for halves of surrogate pairs.

    Args:
        value: A Java object, or what a call of Java raised.
    """
    if isinstance(value, UnicodeDecodeError):
        return value.object.decode("utf-8", "replace")
    try:
        return str(value)
    except UnicodeDecodeError as error:
        return text_of(error)
