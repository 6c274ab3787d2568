import io

import pytest

from controller_client.cli.arguments import key_values, read_json_object
from controller_client.errors import ConfigError


def file(text: str) -> io.StringIO:
    made = io.StringIO(text)
    made.name = "schema.json"
    return made


def test_key_values() -> None:
    assert key_values(["a=1", " b = x=y "], "--option") == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_wrong_key_values_are_refused(pairs: list[str]) -> None:
    with pytest.raises(ConfigError, match="--option"):
        key_values(pairs, "--option")


def test_a_json_object() -> None:
    assert read_json_object(file('{"a": 1}')) == {"a": 1}


@pytest.mark.parametrize(("text", "message"), [("{", "line 1 column 2"), ("[1]", "is a list")])
def test_an_error_about_json_names_the_file(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_json_object(file(text))
    assert caught.value.where == "schema.json"
