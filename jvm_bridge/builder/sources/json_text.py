"""Values as JSON, column by column: all digits, empty lists and objects, and nulls are kept.

Bytes are hexadecimal digits, and points in time ISO 8601, in UTC if they have a time zone. NaN and infinity
are texts, as JSON has no such numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jvm_bridge.builder.sources.lists import with_values

__all__ = ["json_texts"]

_ESCAPED = r'["\\\x00-\x1f]'
_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def json_texts(column: Any) -> Any:
    """Return an Arrow array's values as JSON; a null stays null.

    Raises:
        pyarrow.ArrowNotImplementedError: There is no JSON for the type.
        pyarrow.ArrowInvalid: A text is not UTF-8.
    """
    texts = _texts(column)
    if texts.null_count == column.null_count:
        return texts
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, texts.type))


def _texts(column: Any) -> Any:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return json_texts(column.storage)
    for is_type, texts in _BY_TYPE:
        if is_type(kind):
            return texts(column).cast(pa.large_string())
    raise pa.ArrowNotImplementedError(f"there is no JSON for values of type {kind}")


def _joined(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))


def _constant(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def _or_null(column: Any) -> Any:
    return json_texts(column).fill_null("null")


def _of_struct(column: Any) -> Any:
    parts: list[Any] = []
    for number, field in enumerate(column.type):
        name = json.dumps(field.name, ensure_ascii=False)
        parts += [_constant(f"{',' if number else '{'}{name}:"), _or_null(column.field(number))]
    if not parts:
        return pa.repeat(_constant("{}"), len(column))
    return _joined(*parts, _constant("}"))


def _of_list(column: Any) -> Any:
    return _bracketed(column, _or_null(column.flatten()), "[", "]")


def _of_map(column: Any) -> Any:
    kind = column.type
    pairs = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    keys, items = pairs.flatten().flatten()
    names = json_texts(keys) if _is_text(keys.type) else _quoted(json_texts(keys))
    return _bracketed(pairs, _joined(names, _constant(":"), _or_null(items)), "{", "}")


def _bracketed(lists: Any, items: Any, begin: str, end: str) -> Any:
    joined = pc.binary_join(with_values(lists, lambda _: items).cast(pa.list_(pa.string())), ",")
    return _joined(_constant(begin), joined.cast(pa.large_string()), _constant(end))


def _of_text(column: Any) -> Any:
    column = column.cast(pa.large_string())
    column.validate(full=True)
    return _quoted(column)


def _quoted(texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
        return _each(texts, lambda text: json.dumps(text, ensure_ascii=False))
    return _joined(_constant('"'), texts, _constant('"'))


def _each(column: Any, text: Callable[[Any], str]) -> Any:
    texts = [None if value is None else text(value) for value in column.to_pylist()]
    return pa.array(texts, pa.large_string())


def _of_bytes(column: Any) -> Any:
    return _each(column, lambda value: f'"{value.hex()}"')


def _of_float(column: Any) -> Any:
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    texts = column.cast(pa.large_string())
    if pc.all(pc.is_finite(column)).as_py() is not False:
        return texts
    return _each(texts, lambda text: _NOT_FINITE.get(text, text))


def _of_decimal(column: Any) -> Any:
    texts = column.cast(pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return _each(texts, lambda text: format(Decimal(text), "f"))


def _of_time(column: Any) -> Any:
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    texts = column.cast(pa.large_string())
    return _quoted(pc.replace_substring(texts, " ", "T"))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


_BY_TYPE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_struct, _of_struct),
    (pa.types.is_map, _of_map),
    (_is_list, _of_list),
    (_is_text, _of_text),
    (_is_binary, _of_bytes),
    (pa.types.is_null, lambda column: column),
    (pa.types.is_boolean, lambda column: column),
    (pa.types.is_decimal, _of_decimal),
    (pa.types.is_floating, _of_float),
    (pa.types.is_duration, lambda column: column.cast(pa.int64())),
    (pa.types.is_integer, lambda column: column),
    (pa.types.is_temporal, _of_time),
    (pa.types.is_dictionary, lambda column: _texts(column.dictionary_decode())),
)
