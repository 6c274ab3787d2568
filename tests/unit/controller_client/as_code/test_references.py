from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.references import References, hide, secret_references
from controller_client.errors import ConfigError

_TABLE = ObjectRef(Kind.TABLE, "flights_REALTIME")
_SECRET = "hunter2 is secret"


@pytest.fixture
def references(tmp_path: Path) -> References:
    (tmp_path / "pw.txt").write_text("from a file\n")
    return References({"A": "value of A", "EMPTY": ""}, tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", "value of A"),
        ("user=${env:A};x", "user=value of A;x"),
        ("${env:EMPTY}", ""),
        ("${file:pw.txt}", "from a file"),
        ("$${env:A}", "${env:A}"),
        ("${OTHER:default}", "${OTHER:default}"),
        ("$env:A", "$env:A"),
    ],
)
def test_references_are_replaced(references: References, text: str, expected: str) -> None:
    assert references.resolve({"a": [{"b": text}]}) == {"a": [{"b": expected}]}


def test_all_missing_variables_and_files_are_named(references: References) -> None:
    with pytest.raises(ConfigError) as caught:
        references.resolve({"a": "${env:NOT}", "b": {"c": "${file:none.txt}"}})
    assert "the variable NOT is not set (in /a)" in str(caught.value)
    assert "the file none.txt cannot be read: No such file or directory (in /b/c)" in str(caught.value)


def test_an_unset_variable_can_leave_its_field_unchanged(references: References) -> None:
    found = references.resolve({"a": "${env:NOT}", "b": "${env:A}"}, {"a": "as it is"})
    assert found == {"a": "as it is", "b": "value of A"}


def test_a_document_is_shown_with_references_instead_of_secrets() -> None:
    live = {
        "sasl.jaas.config": _SECRET,
        "url": "s3://user:hunter2@host/x",
        "topic": _SECRET,
        "plain": "shown",
    }
    shown = {"sasl.jaas.config": "${env:JAAS}", "topic": "${env:TOPIC}", "plain": "shown"}
    assert hide(live, shown) == {
        "sasl.jaas.config": "${env:JAAS}",
        "url": "s3://***@host/x",
        "topic": "${env:TOPIC}",
        "plain": "shown",
    }
    assert hide({"password": _SECRET}) == {"password": "***"}


def test_secrets_are_exported_as_references() -> None:
    live = {
        "stream": {"sasl.password": _SECRET, "topic": "x"},
        "list": [{"api.key": _SECRET}],
        "t": "${env:X}",
    }
    document, names = secret_references(_TABLE, live, taken=["PINOT_FLIGHTS_REALTIME_API_KEY"])
    assert document == {
        "stream": {"sasl.password": "${env:PINOT_FLIGHTS_REALTIME_SASL_PASSWORD}", "topic": "x"},
        "list": [{"api.key": "${env:PINOT_FLIGHTS_REALTIME_API_KEY_2}"}],
        "t": "$${env:X}",
    }
    assert names == {
        "PINOT_FLIGHTS_REALTIME_SASL_PASSWORD": ("stream", "sasl.password"),
        "PINOT_FLIGHTS_REALTIME_API_KEY_2": ("list", "0", "api.key"),
    }
    assert References(dict.fromkeys(names, _SECRET), Path()).resolve(document) == live


def test_a_reference_for_a_task_is_kept_and_shown() -> None:
    live = {"input.fs.prop.secretKey": " ${env:PINOT_SECRET_A}"}
    assert hide(live) == live
    document, names = secret_references(_TABLE, live)
    assert (document, names) == ({"input.fs.prop.secretKey": " $${env:PINOT_SECRET_A}"}, {})
    assert References({}, Path()).resolve(document) == live


def test_a_repr_contains_no_secret(references: References) -> None:
    assert "value of A" not in repr(references)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="larger than"):
        References({}, tmp_path).resolve({"a": "${file:big}"})


def test_values_other_than_text_are_unchanged(references: References) -> None:
    document: dict[str, Any] = {"a": 1, "b": None, "c": [True, 1.5]}
    assert references.resolve(document) == document
