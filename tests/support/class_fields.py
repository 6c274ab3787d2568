"""The fields of Pinot's own config classes, read from the jars; runs as a child process with a JVM.

Reads ``[class name, ...]`` from stdin and prints ``{class: {field: type}}``, with the classes that these
refer to. A type is ``{"kind": ...}`` (text, whole, number, truth, choice, list, map, object, other)
with ``of`` (of a list's items and a map's values), ``class`` (of an object), ``choices`` and ``required``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jvm_bridge.jvm import start_jvm

_KINDS = {
    "java.lang.String": "text",
    "int": "whole",
    "java.lang.Integer": "whole",
    "long": "whole",
    "java.lang.Long": "whole",
    "double": "number",
    "java.lang.Double": "number",
    "float": "number",
    "java.lang.Float": "number",
    "boolean": "truth",
    "java.lang.Boolean": "truth",
}


class _Reader:
    def __init__(self) -> None:
        import jpype

        self._class = jpype.JClass
        mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()
        self._config = mapper.getDeserializationConfig()
        self.found: dict[str, dict[str, Any]] = {}

    def read(self, name: str) -> None:
        java = self._class("java.lang.Class").forName(name)
        self._read(self._config.constructType(java))

    def _read(self, java_type: Any) -> None:
        name = str(java_type.getRawClass().getName())
        if name in self.found:
            return
        self.found[name] = {}
        for each in self._config.introspect(java_type).findProperties():
            if each.couldDeserialize():
                found = self._type(each.getPrimaryType())
                self.found[name][str(each.getName())] = {**found, "required": bool(each.isRequired())}

    def _type(self, java_type: Any) -> dict[str, Any]:
        raw = java_type.getRawClass()
        name = str(raw.getName())
        if name in _KINDS:
            return {"kind": _KINDS[name]}
        if java_type.isEnumType():
            return {"kind": "choice", "choices": [str(each) for each in raw.getEnumConstants()]}
        if java_type.isCollectionLikeType() or java_type.isArrayType():
            return {"kind": "list", "of": self._type(java_type.getContentType())}
        if java_type.isMapLikeType():
            return {"kind": "map", "of": self._type(java_type.getContentType())}
        if name.startswith("org.apache.pinot.") and not java_type.isAbstract():
            self._read(java_type)
            return {"kind": "object", "class": name}
        return {"kind": "other", "class": name}


def main() -> None:
    wanted = json.load(sys.stdin)
    start_jvm(max_heap_mb=256)
    reader = _Reader()
    for name in wanted:
        reader.read(name)
    sys.stdout.write(json.dumps(reader.found) + "\n")


if __name__ == "__main__":
    main()
