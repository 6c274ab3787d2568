"""The capabilities of a version."""

from __future__ import annotations

import pytest

from controller_client.errors import PinotPluginError, UnsupportedError
from controller_client.rest.capabilities import (
    SINCE,
    Capabilities,
    Capability,
    PinotVersion,
    warn_if_untested,
)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.11.0-1b4d6b6b0a27422c1552ea1a936ad145056f7033", "0.11.0"),
        ("1.6.0-SNAPSHOT-abc", "1.6.0"),
        ("1.5.1", "1.5.1"),
        ("2.0", "2.0.0"),
    ],
)
def test_versions_are_parsed(text: str, release: str) -> None:
    assert str(PinotVersion.parse(text)) == release


def test_versions_are_ordered_by_number() -> None:
    texts = ["1.10.0", "0.9.3", "1.2.0", "0.11.0-x", "0.11.0"]
    assert [str(version) for version in sorted(map(PinotVersion.parse, texts))] == [
        "0.9.3",
        "0.11.0",
        "0.11.0",
        "1.2.0",
        "1.10.0",
    ]
    assert PinotVersion.parse("0.11.0-x") == PinotVersion(0, 11)


def test_the_controllers_version_counts() -> None:
    components = {"pinot-avro": "9.9.9", "pinot-controller": "0.11.0-1b4d", "pinot-common": "1.0.0"}
    assert str(PinotVersion.from_components(components)) == "0.11.0"
    with pytest.raises(PinotPluginError, match="does not report"):
        PinotVersion.from_components({"pinot-controller": "UNKNOWN"})


def test_each_capability_has_a_version() -> None:
    assert set(SINCE) == set(Capability)


def test_a_missing_capability_names_the_first_version() -> None:
    old, new = Capabilities(PinotVersion(0, 11)), Capabilities(PinotVersion(1, 6))
    for capability, since in SINCE.items():
        assert new.has(capability)
        assert old.has(capability) is (since <= PinotVersion(0, 11))
    with pytest.raises(
        UnsupportedError, match=r"Pinot 0\.11\.0 lacks replacing segments with nothing"
    ) as caught:
        old.require(Capability.EMPTY_SEGMENTS_TO, remedy="take one without rows")
    assert "Pinot 1.0.0 or later" in str(caught.value)
    assert "take one without rows" in str(caught.value)
    new.require(Capability.EMPTY_SEGMENTS_TO)


def test_a_newer_version_gives_one_warning_per_process(caplog: pytest.LogCaptureFixture) -> None:
    for text in ("0.11.0", "1.5.1", "1.5.9"):
        warn_if_untested(PinotVersion.parse(text))
    assert caplog.messages == []
    for _ in range(3):
        warn_if_untested(PinotVersion.parse("1.97.0-SNAPSHOT"))
    (message,) = caplog.messages
    assert message.startswith("Pinot 1.97.0 is newer than the newest tested version (1.5.1)")
    warn_if_untested(PinotVersion.parse("2.98.0"))
    assert len(caplog.messages) == 2
