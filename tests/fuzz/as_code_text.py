"""YAML and JSON files of as-code folders."""

from __future__ import annotations

import json

from controller_client.as_code.hiding import hide
from controller_client.as_code.yaml_text import dump_yaml, load_json, load_yaml
from controller_client.errors import ConfigError


def parse(data: bytes) -> None:
    text = data.decode(errors="replace")
    for load in (load_yaml, load_json):
        try:
            document = load(text, "here")
        except ConfigError:
            continue
        json.dumps(hide(document))
        # JSON's texts may have unpaired surrogates and characters that YAML has no form for.
        if load is load_yaml:
            assert load_yaml(dump_yaml(document), "written") == document
