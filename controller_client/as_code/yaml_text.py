"""YAML whose values are those of JSON: what YAML 1.1 makes of ``no``, ``12:30`` or ``2024-01-01`` stays text.

Written files follow the stricter of both rules, so every other reader of YAML finds the same values in them.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from controller_client.errors import ConfigError

__all__ = ["dump_yaml", "load_json", "load_yaml"]

_DEEPEST = 64


class _Loader(yaml.SafeLoader):
    """Reads the values that JSON has; refuses aliases, and keys that come twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="an alias (*name) is not allowed", problem_mark=mark)
        if len(self.indents) > _DEEPEST or self.flow_level > _DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"nested in more than {_DEEPEST} levels", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is no text: put it in quotes", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} comes twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|", ["n", ""]),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?", list("-0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), list(_first))


class _Dumper(yaml.SafeDumper):
    """Writes lists below their key with an indent, and text of several lines as such."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029]")


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # PyYAML writes these as they are and reads a line's end.
    style = '"' if _LINE_BREAKS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def load_yaml(text: str, where: str) -> Any:
    """Read one YAML document.

    Args:
        text: The file's text.
        where: The file, for the error.

    Raises:
        ConfigError: It is no YAML, or has what JSON has not; the error names line and column.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
        raise ConfigError(f"this is not valid YAML: {error.problem}", where=place) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"this is not valid YAML: {error}", where=where) from None


def load_json(text: str, where: str) -> Any:
    """Read one JSON document; errors as of :func:`load_yaml`."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is not valid JSON: {error}", where=where) from None


def dump_yaml(document: Any) -> str:
    """Write a JSON value as YAML, keys in the order that they have."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} comes twice")
        found[key] = value
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
