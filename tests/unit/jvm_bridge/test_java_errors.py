"""What Java raises is shown as Java says it, also if JPype cannot decode it."""

from __future__ import annotations

from jvm_bridge.java_errors import message_of, root_causes, text_of

_HALF = "a\ud83db, password=hush".encode("utf-8", "surrogatepass")
_ERROR = UnicodeDecodeError("utf-8", _HALF, 1, 2, "invalid continuation byte")


def test_a_message_with_half_a_character_is_shown_and_masked() -> None:
    assert text_of(_ERROR) == message_of(_ERROR) == "a\ufffd\ufffd\ufffdb, password=hush"
    assert root_causes(_ERROR).startswith("a\ufffd\ufffd\ufffdb, password=")
    assert "hush" not in root_causes(_ERROR)
