from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller_client.as_code import yaml_text
from controller_client.as_code.yaml_text import dump_yaml, load_json, load_yaml
from controller_client.errors import ConfigError

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=5))
def test_a_written_document_is_read_back(document: dict[str, Any]) -> None:
    text = dump_yaml(document)
    assert load_yaml(text, "x") == document
    assert yaml.safe_load(text) == document  # other readers get the same


@pytest.fixture(params=["libyaml", "PyYAML"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with both parsers, since not every machine has libyaml."""
    if request.param == "PyYAML":
        monkeypatch.setattr(yaml_text, "_PARSER", yaml.SafeLoader)


@pytest.mark.parametrize(
    "text",
    ["no", "yes", "on", "12:30", "2024-01-01", "0x1f", "1_000", "1e5", "~", "0o17", "007", "NO", "True"],
)
def test_what_only_yaml_1_1_does_not_read_as_text_is_text(text: str) -> None:
    assert load_yaml(f"a: {text}", "x") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-1.5", -1.5), ("true", True), ("null", None), ("", None), ('"12"', "12")],
)
def test_json_values_are_read_as_in_json(text: str, value: Any) -> None:
    assert load_yaml(f"a: {text}", "x") == {"a": value}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "line 2, column 1"),
        ("a: &x [1]\nb: *x", "alias"),
        ("1: a", "is not text"),
        ("a: [1", "not valid YAML"),
        ("a: !!python/object:os.system x", "tag"),
        ("a: !!str 5", "line 1, column 4"),
        ("a: " + "[" * 500, "more than 64 levels"),
        ("\n".join("  " * level + "a:" for level in range(70)), "more than 64 levels"),
        ("a: 1\n---\nb: 2", "second document"),
        ("? [a]\n: 1", "is not text"),
        ("a: \x00", "not valid YAML"),
        ("a: " + "9" * 5000, "not valid YAML"),
    ],
)
def test_ambiguous_yaml_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_yaml(text, "tables/x.yaml")
    assert words in str(caught.value)
    assert str(caught.value).count("not valid YAML") == 1
    assert "tables/x.yaml" in str(caught.value)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', "{", "[" * 100_000])
def test_ambiguous_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not valid JSON"):
        load_json(text, "x")


@pytest.mark.parametrize("number", ["1.0e+400", "-1.0e+400", "9" * 400 + ".5"])
def test_a_number_that_json_cannot_write_is_refused_with_its_place(number: str) -> None:
    with pytest.raises(ConfigError, match="too large for a number of JSON") as caught:
        load_yaml(f"a: 1\nb: {number}", "tables/x.yaml")
    assert "line 2, column 4" in str(caught.value)
    assert load_yaml(f"a: '{number}'", "x") == {"a": number}
    with pytest.raises(ConfigError, match="too large for a number of JSON"):
        load_json(f'{{"a": {number}}}', "x")
