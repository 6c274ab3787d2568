"""The environment variables that Java sees."""

from __future__ import annotations

import ctypes
import os

import pytest

from jvm_bridge.environment import keep_from_java


def seen_outside_of_python(name: str) -> str | None:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    found: bytes | None = getenv(name.encode())
    return None if found is None else found.decode()


def test_variables_for_references_are_hidden_from_java(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = {"PINOT_SECRET_FLIGHTS_KEY": "k", "PINOT_CONTROLLER_URL": "http://user:pass@host:9000"}
    for name, value in {**hidden, "PINOT_OTHER": "o"}.items():
        monkeypatch.setenv(name, value)
        assert seen_outside_of_python(name) == value
    keep_from_java()
    assert {name: seen_outside_of_python(name) for name in hidden} == dict.fromkeys(hidden)
    assert {name: os.environ[name] for name in hidden} == hidden
    assert seen_outside_of_python("PINOT_OTHER") == "o"
