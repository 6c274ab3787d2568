"""YAML with the values of JSON: ``no``, ``12:30`` and ``2024-01-01``, which YAML 1.1 converts, stay text.

Written files are valid under both rules, so every other YAML reader finds the same values in them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from controller_client.errors import ConfigError

__all__ = ["dump_yaml", "load_json", "load_yaml"]

_DEEPEST = 64
_TOO_LARGE = "too large for a number of JSON: put it in quotes to make it text"

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser is many times as fast for a large folder, if PyYAML was built with it."""

_PLAIN_VALUES: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"true|false"), lambda text: text == "true"),
    (re.compile(r"null|"), lambda _: None),
    (re.compile(r"-?(?:0|[1-9][0-9]*)"), int),
    (re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?"), float),
)
"""How unquoted text is interpreted; anything else is text."""


class _Builder:
    """Builds the value of one document from the parser's events; refuses what JSON does not have."""

    def __init__(self, text: str) -> None:
        self._events = yaml.parse(text, Loader=_PARSER)

    def document(self) -> Any:
        """Return the only document; None if the text is empty."""
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), 1)
        next(self._events)  # the document's end
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise _refusal(event, "a second document starts here; a file may have only one")
        return value

    def _value(self, event: Any, level: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            raise _refusal(event, "an alias (*name) is not allowed")
        if event.tag not in (None, "!"):
            raise _refusal(
                event, f"a tag ({event.tag}) is not allowed; put the value in quotes to make it text"
            )
        if level > _DEEPEST:
            raise _refusal(event, f"nested more than {_DEEPEST} levels deep")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._value(each, level + 1) for each in self._until(yaml.SequenceEndEvent)]
        return self._object(level)

    def _scalar(self, event: Any) -> Any:
        value = _plain_value(event.value) if event.implicit[0] else event.value
        if isinstance(value, float) and not math.isfinite(value):
            raise _refusal(event, f"the number {event.value[:40]} is {_TOO_LARGE}")
        return value

    def _object(self, level: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for event in self._until(yaml.MappingEndEvent):
            key = self._value(event, level + 1)
            if not isinstance(key, str):
                raise _refusal(event, f"the key {key!r} is not text: put it in quotes")
            if key in mapping:
                raise _refusal(event, f"the key {key!r} appears twice")
            mapping[key] = self._value(next(self._events), level + 1)
        return mapping

    def _until(self, end: type[yaml.Event]) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event


def _plain_value(text: str) -> Any:
    for pattern, value_of in _PLAIN_VALUES:
        if pattern.fullmatch(text):
            return value_of(text)
    return text


def _refusal(event: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029]")


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # PyYAML would write these unescaped and read them as line breaks.
    style = '"' if _LINE_BREAKS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def load_yaml(text: str, where: str) -> Any:
    """Read one YAML document.

    Args:
        text: The file's text.
        where: The file, for the error.

    Raises:
        ConfigError: It is not YAML, or has what JSON does not have; the error names line and column.
    """
    try:
        return _Builder(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
        raise ConfigError(f"the file is not valid YAML: {error.problem}", where=place) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"the file is not valid YAML: {error}", where=where) from None


def load_json(text: str, where: str) -> Any:
    """Read one JSON document; errors as for :func:`load_yaml`."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the file is not valid JSON: {error}", where=where) from None


def dump_yaml(document: Any) -> str:
    """Write a JSON value as YAML, with keys in their present order."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key {key!r} appears twice")
        members[key] = value
    return members


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is {_TOO_LARGE}")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
