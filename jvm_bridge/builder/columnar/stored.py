"""Columns in the form in which a column file stores them, and the conversions to it.

Each conversion does exactly what ``ExactColumn.java`` and Pinot's ``NullValueTransformer`` and
``SanitizationTransformer`` do with single rows, or raises :class:`~jvm_bridge.builder.planning.Unsuitable`.
Arrow parses some texts that Java does not (``0x1F``, ``inf``), so texts are checked for such bytes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from controller_client.common.arrow_types import NUMBER_TYPES
from jvm_bridge.builder.planning import FIXED_WIDTH, ColumnPlan, Conversion, Field, Unsuitable
from jvm_bridge.time_conversion import MILLI_NS, steps_of

__all__ = ["FixedColumn", "ListColumn", "StoredColumn", "TextColumn", "store", "text_bytes"]

Mask = npt.NDArray[np.bool_]
Offsets = npt.NDArray[np.int64]

_JAVA_TRIMS = "".join(map(chr, range(0x21)))  # String.trim drops all characters up to the space


@dataclass(frozen=True)
class FixedColumn:
    """One number per row, little-endian as in ``FIXED_WIDTH``; ``nulls`` is None if there are none."""

    values: npt.NDArray[Any]
    nulls: Mask | None


@dataclass(frozen=True)
class TextColumn:
    """One text or byte string per row, as Arrow ``large_binary`` without nulls."""

    values: Any
    nulls: Mask | None


@dataclass(frozen=True)
class ListColumn:
    """At least one value per row; ``offsets`` (rows + 1 of them) index ``values``."""

    values: FixedColumn | TextColumn
    offsets: Offsets
    nulls: Mask | None


StoredColumn = FixedColumn | TextColumn | ListColumn


def store(plan: ColumnPlan, source: Any | None, rows: int, default: Any) -> StoredColumn:
    """Convert one column of a batch.

    Args:
        plan: The conversion.
        source: The source's Arrow array; None for ``Conversion.MISSING``. A multi-value field accepts lists,
            or single values, which become lists of one.
        rows: Rows in the batch.
        default: The value that Pinot stores for a null (for a multi-value field: its only value): a number,
            text or bytes; text for a late column.

    Raises:
        Unsuitable: Pinot would convert a value differently, or reject it.
    """
    try:
        if source is None or plan.conversion is Conversion.MISSING:
            return _all_null(plan.field, rows, default)
        if plan.field.single_value:
            return _single(plan, source, default)
        return _multi(plan, source, default)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0][:200]
        raise Unsuitable(f"column {plan.field.name}, {plan.field.data_type}: {reason}") from error


def _all_null(field: Field, rows: int, default: Any) -> StoredColumn:
    nulls = np.ones(rows, dtype=np.bool_)
    values = _constant(field, rows, default)
    if not field.single_value:
        return ListColumn(values, np.arange(rows + 1, dtype=np.int64), nulls)
    return replace(values, nulls=nulls)


def _constant(field: Field, rows: int, default: Any) -> FixedColumn | TextColumn:
    if isinstance(default, str | bytes):
        value = default.encode() if isinstance(default, str) else default
        return TextColumn(pa.repeat(pa.scalar(value, pa.large_binary()), rows), None)
    return FixedColumn(np.full(rows, default, dtype=FIXED_WIDTH[field.data_type]), None)


def _single(plan: ColumnPlan, source: Any, default: Any) -> FixedColumn | TextColumn:
    nulls = source.is_null().to_numpy(zero_copy_only=False) if source.null_count else None
    if plan.is_late or plan.field.data_type not in FIXED_WIDTH:
        return TextColumn(_text(plan, source, default), nulls)
    if nulls is not None:
        # numpy has no nulls: convert a column with a valid value for nulls, then insert the default
        source = source.fill_null(_neutral(source.type))
    values = np.ascontiguousarray(_numbers(plan, source), dtype=FIXED_WIDTH[plan.field.data_type])
    if nulls is not None:
        values = np.where(nulls, np.asarray(default, dtype=values.dtype), values)
    return FixedColumn(values, nulls)


def _neutral(source: pa.DataType) -> Any:
    if pa.types.is_string(source) or pa.types.is_large_string(source):
        return "0"
    return pa.scalar(0, pa.int64()).cast(pa.int32() if source.bit_width == 32 else pa.int64()).cast(source)


def _multi(plan: ColumnPlan, source: Any, default: Any) -> ListColumn:
    if not (pa.types.is_list(source.type) or pa.types.is_large_list(source.type)):
        valid = source.is_valid().to_numpy(zero_copy_only=False)
        lengths, values = valid.astype(np.int64), source.drop_null()
    else:
        lengths = (
            pc.fill_null(pc.list_value_length(source), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        values = source.flatten()
        if values.null_count:  # Pinot drops nulls among the values
            owners = np.repeat(np.arange(len(source)), lengths)
            kept = owners[values.is_valid().to_numpy(zero_copy_only=False)]
            lengths = np.bincount(kept, minlength=len(source)).astype(np.int64)
            values = values.drop_null()
    stored = _single(plan, values, default)
    empty = lengths == 0
    if not empty.any():
        return ListColumn(stored, _offsets(lengths), None)
    return _with_filled_rows(plan.field, stored, lengths, empty, default)


def _with_filled_rows(
    field: Field, stored: FixedColumn | TextColumn, lengths: Offsets, empty: Mask, default: Any
) -> ListColumn:
    # A row without values gets the default, which is appended after all values.
    filler = _constant(field, 1, default)
    offsets = _offsets(np.where(empty, 1, lengths))
    take = np.full(int(offsets[-1]), len(stored.values), dtype=np.int64)
    own = np.ones(len(take), dtype=np.bool_)
    own[offsets[:-1][empty]] = False
    take[own] = np.arange(len(stored.values))
    if isinstance(stored, FixedColumn):
        return ListColumn(FixedColumn(np.append(stored.values, filler.values)[take], None), offsets, empty)
    texts = pa.concat_arrays([stored.values, filler.values]).take(pa.array(take))
    return ListColumn(TextColumn(texts, None), offsets, empty)


def _offsets(lengths: Offsets) -> Offsets:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


# --- numbers
# ---------------------------------------------------------------------------------------------------


def _numbers(plan: ColumnPlan, source: Any) -> npt.NDArray[Any]:
    field = plan.field
    match plan.conversion:
        case Conversion.TEXT_TO_NUMBER:
            source = _parsed(field, source)
        case Conversion.TEXT_TO_BOOLEAN:
            trimmed = pc.ascii_lower(pc.utf8_trim(source, characters=_JAVA_TRIMS))
            _check_booleans(field, trimmed, ("true", "false", "1", "0"))
            source = pc.or_(pc.equal(trimmed, "true"), pc.equal(trimmed, "1"))
        case Conversion.NUMBER_TO_BOOLEAN:
            _check_booleans(field, source, (0, 1))
            source = pc.equal(source, pa.scalar(1, source.type))
        case Conversion.TO_STEPS:
            steps = steps_of(source, field.step_ns or MILLI_NS)
            source = steps.cast(pa.int32()) if field.data_type == "INT" else steps
        case Conversion.NUMBER:
            return _another_width(field, source)
    return np.asarray(source.to_numpy(zero_copy_only=False))


def _check_booleans(field: Field, source: Any, known: tuple[Any, ...]) -> None:
    if not pc.all(pc.is_in(source, pa.array(known, source.type))).as_py():
        raise Unsuitable(f"column {field.name}, BOOLEAN: values other than {', '.join(map(str, known))}")


def _parsed(field: Field, source: Any) -> Any:
    integer = field.data_type in {"INT", "LONG"}
    digits = b"0123456789-" if integer else b"0123456789-+.eE"
    found = _bytes_found(source)
    if not found <= frozenset(digits):
        if not found <= frozenset(digits) | frozenset(b" \t"):
            odd = bytes(sorted(found - frozenset(digits)))[:8]
            raise Unsuitable(
                f"column {field.name}, {field.data_type}: unexpected characters {odd!r} in numbers"
            )
        source = pc.utf8_trim(source, characters=_JAVA_TRIMS)
    numbers = source.cast(NUMBER_TYPES[field.data_type])
    if not integer and pc.any(pc.is_inf(numbers)).as_py():
        raise Unsuitable(f"column {field.name}, {field.data_type}: numbers that are too large")
    return numbers


def _bytes_found(source: Any) -> frozenset[int]:
    """Return the byte values that occur in a text column, including its null slots."""
    return frozenset(np.flatnonzero(np.bincount(text_bytes(source)[1], minlength=256)).tolist())


def text_bytes(source: Any) -> tuple[Offsets, npt.NDArray[np.uint8]]:
    """Return the offsets (from 0) and the bytes of a text or binary column."""
    large = pa.types.is_large_string(source.type) or pa.types.is_large_binary(source.type)
    _, offset_buffer, data_buffer = source.buffers()
    if offset_buffer is None or len(source) == 0:
        return np.zeros(len(source) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    offsets = np.frombuffer(offset_buffer, dtype=np.int64 if large else np.int32)
    offsets = offsets[source.offset : source.offset + len(source) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _another_width(field: Field, source: Any) -> npt.NDArray[Any]:
    if pa.types.is_date32(source.type):
        source = source.view(pa.int32())
    if field.data_type in {"INT", "LONG", "TIMESTAMP"}:
        # Arrow rejects a number that does not fit.
        return np.asarray(source.cast(NUMBER_TYPES.get(field.data_type, pa.int64())).to_numpy())
    values = np.asarray(source.to_numpy(zero_copy_only=False))
    with np.errstate(over="ignore"):
        numbers = values.astype(FIXED_WIDTH[field.data_type])
    if (np.isinf(numbers) & ~np.isinf(values)).any():
        raise Unsuitable(f"column {field.name}, {field.data_type}: numbers that are too large")
    return numbers


# --- text
# ------------------------------------------------------------------------------------------------------


def _text(plan: ColumnPlan, source: Any, default: Any) -> Any:
    field = plan.field
    if plan.conversion is Conversion.HEX_TO_BYTES:
        source = _unhexed(field, source)
    if field.data_type == "BYTES":
        values = source.cast(pa.large_binary())
        return values.fill_null(pa.scalar(default, pa.large_binary())) if values.null_count else values
    values = source.cast(pa.large_string())
    if plan.conversion is not Conversion.TO_TEXT:
        values.validate(full=True)  # Java replaces invalid UTF-8 by U+FFFD
    if values.null_count:
        values = values.fill_null(pa.scalar(default, pa.large_string()))
    if field.data_type == "STRING":
        values = _sanitized(field, values)
    return values.cast(pa.large_binary())


def _unhexed(field: Field, source: Any) -> Any:
    offsets, data = text_bytes(source)
    nibbles = _NIBBLES[data]
    if (nibbles > 15).any() or (offsets & 1).any():
        raise Unsuitable(f"column {field.name}, BYTES: values that are not hexadecimal")
    packed = (nibbles[0::2] << 4) | nibbles[1::2]
    validity = source.is_valid() if source.null_count else None
    decoded = pa.Array.from_buffers(
        pa.large_binary(),
        len(source),
        [None, pa.py_buffer(offsets >> 1), pa.py_buffer(np.ascontiguousarray(packed))],
    )
    return decoded if validity is None else pc.if_else(validity, decoded, pa.scalar(None, pa.large_binary()))


_NIBBLES = np.full(256, 255, dtype=np.uint8)
_NIBBLES[list(b"0123456789abcdef")] = range(16)
_NIBBLES[list(b"ABCDEF")] = range(10, 16)


def _sanitized(field: Field, values: Any) -> Any:
    """Truncate at the first null character and at the maximum length, in UTF-16 units as in Java."""
    offsets, data = text_bytes(values)
    if (data == 0).any():
        values = pc.replace_substring_regex(values, pattern=r"(?s)\x00.*", replacement="")
        offsets, _ = text_bytes(values)
    too_long = np.diff(offsets) > field.max_length
    if not too_long.any():
        return values
    candidates = values.filter(pa.array(too_long))
    if pc.any(pc.match_substring_regex(candidates, r"[\x{10000}-\x{10FFFF}]")).as_py():
        raise Unsuitable(f"column {field.name}, STRING: too long values with characters of two UTF-16 units")
    return pc.utf8_slice_codeunits(values, 0, field.max_length)
