from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import jvm_bridge
from controller_client.common.redaction import MASKED_IN_JAVA, SECRETS_IN_TEXT


def test_every_layout_masks_secrets_by_the_projects_pattern() -> None:
    file = Path(jvm_bridge.__file__).with_name("log4j2.xml")
    root = ET.parse(file).getroot()  # noqa: S314  # the project's own file
    assert [each.text for each in root.iter("Property") if each.get("name") == "secrets"] == [SECRETS_IN_TEXT]
    layouts = list(root.iter("PatternLayout"))
    assert layouts
    for layout in layouts:
        assert [each.attrib for each in layout.iter("replace")] == [
            {"regex": "${secrets}", "replacement": MASKED_IN_JAVA}
        ]
