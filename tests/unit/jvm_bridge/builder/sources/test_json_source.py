"""The JSON lines that are passed to Arrow, and those that must not reach it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jvm_bridge.builder.planning import Field, TableRequirements, Unsuitable
from jvm_bridge.builder.sources.json_source import NullRowGuard, open_json

_TABLE = TableRequirements((Field("s", "STRING", True, 512),), None, True)


def _read(text: str, block: int) -> bytes:
    guard = NullRowGuard(io.BytesIO(text.encode()))
    return b"".join(iter(lambda: guard.read(block), b""))


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"s":null}\n',
        '{"s":"null"}\n{"s": null}\n',
        '{"s":"a"}nu',
        "\n \t\n[null]\nnul",
        "x null\n",
        "{}x null",
    ],
)
def test_other_lines_pass(text: str, block: int) -> None:
    assert _read(text, block) == text.encode()


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize(
    "text",
    [
        *("null", '{"s":"a"}\nnull\n', "\r\n \t null", "{}\r\n\r\nnull{}", " " * 300 + "null"),
        *('{"s":"a"}null', '{"s":{}} \t null\n', '{"s":"a"}{} null{}'),
    ],
)
def test_a_row_that_is_null_is_refused(text: str, block: int) -> None:
    with pytest.raises(Unsuitable, match="a row is null"):
        _read(text, block)


@pytest.mark.parametrize(
    "text",
    [b"\n\nnull", b'{"s":"a"}\n' * 30_000 + b"null\n" * 1_000_000, b'\n{"s":"a"}null'],
    ids=["last line", "second block", "behind an object"],
)
def test_arrow_does_not_see_a_null(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(text)
    with pytest.raises(Unsuitable, match="a row is null"):
        list(open_json(path, _TABLE).batches)
