"""Hostile bytes for each parser: small ones that take much memory or time, and ones that break it.

Code makes them, so that none of them is in the repository.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["CASES", "Make"]

_MIB = 1 << 20
_DEEP = 100_000
_GREATEST = 2**31 - 1

Make = Callable[[], bytes]


def _packed(text: bytes, times: int = 1, before: bytes = b"") -> bytes:
    """Return the gzip of a text that is repeated, without making it; only its checksum is wrong."""
    packer = zlib.compressobj(9, wbits=31)
    begin = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    one = packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)
    return begin + one * times + packer.flush()


def _varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(types)]
    return {"type": "record", "name": "R", "fields": fields}


def _doubled(levels: int) -> Any:
    """Return a schema whose values have 2^levels fields that take no bytes."""
    kind: Any = _record("null") | {"name": "R0"}
    for level in range(1, levels):
        kind = _record(kind, f"R{level - 1}") | {"name": f"R{level}"}
    return kind


def _message(schema: Any, data: bytes) -> bytes:
    return (schema if isinstance(schema, bytes) else json.dumps(schema).encode()) + b"\n" + data


def _avro(schema: Any, *blocks: tuple[int, bytes], more: bytes = b"") -> bytes:
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    entries = {b"avro.schema": text, b"more": more}
    header = b"".join(_varint(len(part)) + part for entry in entries.items() for part in entry)
    sync = b"s" * 16
    body = b"".join(_varint(rows) + _varint(len(data)) + data + sync for rows, data in blocks)
    return b"Obj\x01" + _varint(len(entries)) + header + b"\0" + sync + body


def _tar(name: bytes, size: int, kind: bytes = b"0", *, content: bytes = b"") -> bytes:
    """Return an entry of a tar, with the right checksum."""
    header = bytearray(512)
    header[0 : len(name)] = name
    header[124:136] = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    header[156:157], header[257:265] = kind, b"ustar\x0000"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content + bytes(-len(content) % 512)


def _in_tar(*entries: bytes) -> bytes:
    return b"".join((_tar(b"s/", 0, b"5"), *entries, bytes(1024)))


def _parquet(columns: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({f"c{at}": pa.array([1], pa.int8()) for at in range(columns)}), out)
    return out.getvalue()


def _misnamed_parquet() -> bytes:
    return _parquet(3).replace(b"c1", b"\xff1")


def _table(kind: bytes, row: bytes, *, rows: int = 1, dictionary: bytes = b"", version: int = 3) -> bytes:
    names = b"".join(struct.pack(">i", len(text)) + text for text in (b"c", kind))
    schema = struct.pack(">i", 1) + names
    places, at = [], 13 * 4
    for section in (b"", dictionary, schema, row, b""):
        places += [at, len(section)]
        at += len(section)
    return struct.pack(">13i", version, rows, 1, *places) + dictionary + schema + row + struct.pack(">i", 0)


def _in_record(**fields: Any) -> bytes:
    return b"\xff" + json.dumps({"id": "x", "simpleFields": {}, **fields}).encode()


_NULLS = {"type": "array", "items": "null"}
_LINKED = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
_ROW = _record("string")
_JSON_ROW = b'{"k":"a","n":1,"b":true,"t":1700000000000,"ts":5,"%s":%s}'
_READERS = 35
_COLUMNS = (b"int1", b"lon0", b"str0", b"jso1", b"map1", b"byt1", b"big1", b"tim1")


def _row_with_lists(column: bytes, levels: int) -> bytes:
    return _JSON_ROW % (column, b"[" * levels + b"1" + b"]" * levels)


CASES: Mapping[str, Mapping[str, Make]] = {
    "json_messages": {
        "no bytes": lambda: b"",
        "a number": lambda: b"5",
        "no end": lambda: b"[" * _DEEP,
        **{
            f"{column.decode()}: {levels} lists": (partial(_row_with_lists, column, levels))
            for column in _COLUMNS
            for levels in (990, 1_020)
        },
        "objects within each other": lambda: _JSON_ROW % (b"str0", b'{"a":' * 1_000 + b"1" + b"}" * 1_000),
        "a wide list": lambda: _JSON_ROW % (b"str0", b"[" + b"[]," * 300_000 + b"1]"),
        "a million digits": lambda: _JSON_ROW % (b"big1", b"1" * 1_000_000),
        "a million digits in a text": lambda: _JSON_ROW % (b"big1", b'"%s"' % (b"1" * 1_000_000)),
        "a great exponent": lambda: _JSON_ROW % (b"int1", b"1e999999999"),
        "a text like an exponent": lambda: _JSON_ROW % (b"big1", b'"1e999999999"'),
        "half a surrogate": lambda: rb'{"k":"\ud800","ts":1}',
        "a late byte that is no UTF-8": lambda: _JSON_ROW % (b"str1", b'"\xff"'),
        "JSON in a text": lambda: _JSON_ROW % (b"jso1", json.dumps("[" * _DEEP).encode()),
    },
    "avro_messages": {
        "nulls without bytes": lambda: _message(_record(_NULLS), _varint(50_000_000) + b"\0"),
        "nulls without end": lambda: _message(_record(_NULLS), _varint(2**62)),
        "empty records": lambda: _message(
            _record({"type": "array", "items": _record() | {"name": "E"}}), _varint(_GREATEST) + b"\0"
        ),
        "fixed values without bytes": lambda: _message(
            _record({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}), _varint(_GREATEST)
        ),
        "records that double": lambda: _message(_doubled(60), b""),
        "a list of 5,000 records": lambda: _message(_LINKED, b"\x02" * 5_000 + b"\0"),
        "a list of a million records": lambda: _message(_LINKED, b"\x02" * 1_000_000 + b"\0"),
        "a deep schema": lambda: _message(b'{"type":"array","items":' * _DEEP, b""),
        "deep types": lambda: _message(b"[" * 900 + b'"int"' + b"]" * 900, b"\0" * 900),
        "a fixed value of 2 GB": lambda: _message(
            _record({"type": "fixed", "name": "F", "size": _GREATEST}), b"x"
        ),
        "a text of 2 GB": lambda: _message(_ROW, _varint(_GREATEST) + b"x"),
        "a text of less than nothing": lambda: _message(_ROW, _varint(-5)),
        "a branch that is not there": lambda: _message(_record(["null", "int"]), _varint(7)),
        "a symbol that is not there": lambda: _message(
            _record({"type": "enum", "name": "E", "symbols": ["a"]}), _varint(-3)
        ),
        "a number without end": lambda: _message(_record("long"), b"\xff" * 1_000_000),
        "a schema that is a list": lambda: _message(b"[]", b"\0"),
        "a name that is a number": lambda: _message(b'{"type":"record","name":7,"fields":[]}', b""),
        "a default that is none": lambda: _message(
            b'{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":{}}]}', b"\0"
        ),
    },
    "avro_file": {
        "no bytes": lambda: b"",
        "a header of 400 MB": lambda: _packed(
            bytes(_MIB), 400, b"Obj\x01" + _varint(1) + _varint(1) + b"a" + _varint(400 * _MIB)
        ),
        "a long schema": lambda: _packed(
            b" " * _MIB, 400, b"Obj\x01" + _varint(1) + _varint(11) + b"avro.schema" + _varint(400 * _MIB)
        ),
        "a trillion entries": lambda: b"Obj\x01" + _varint(2**40),
        "an entry of less than nothing": lambda: b"Obj\x01" + _varint(1) + _varint(-1),
        "a block of less than nothing": lambda: _avro(_ROW) + _varint(1) + _varint(-1),
        "rows without bytes": lambda: _avro(_record("null"), (2**50, b"")),
        "records that double": lambda: _avro(_doubled(60), (1, b"")),
        "a deep schema": lambda: _avro(b"[" * _DEEP),
        "deep types": lambda: _avro(b'{"type":"array","items":' * 900 + b'"int"' + b"}" * 900),
        "a schema of numbers": lambda: _avro(b'{"type":"record","name":1,"fields":[{"name":1,"type":1}]}'),
        "200 MB of zeros": lambda: _packed(bytes(_MIB), 200, _avro(_ROW)),
        "half of gzip": lambda: gzip.compress(_avro(_ROW))[:-9],
    },
    "segment_tar": {
        "no bytes": lambda: b"",
        "8 GB of zeros": lambda: _packed(bytes(_MIB), 8_000),
        "a file of 8 GB": lambda: _packed(
            bytes(_MIB), 8_000, _tar(b"s/", 0, b"5") + _tar(b"s/a", 8_000 * _MIB)
        ),
        "metadata of 60 MB": lambda: _packed(
            b"a=b\n" * (_MIB // 4), 60, _tar(b"s/", 0, b"5") + _tar(b"s/metadata.properties", 60 * _MIB)
        ),
        "a size of 2^80": lambda: _in_tar(_tar(b"s/a", 2**80)),
        "a long name of 60 MB": lambda: _packed(bytes(_MIB), 60, _tar(b"x", 60 * _MIB, b"L")),
        "pax of 60 MB": lambda: _packed(b"9" * _MIB, 60, _tar(b"x", 60 * _MIB, b"x")),
        "pax with a size": lambda: _in_tar(
            _tar(b"x", 40, b"x", content=b"40 size=99999999999999999999999999999999\n")
        ),
        "pax with digits of another script": lambda: _in_tar(
            _tar(b"x", 12, b"x", content="12 size=\u0663\n".encode())
        ),
        "many entries": lambda: _packed(_tar(b"s/a", 0), 30_000, _tar(b"s/", 0, b"5")),
        "many names": lambda: gzip.compress(
            _in_tar(*(_tar(b"s/%0200d" % number, 0) for number in range(20_001))), 1
        ),
        "a folder of 100 levels": lambda: _in_tar(_tar(b"s/" + b"a/" * 45, 0, b"5")),
        "a link": lambda: _in_tar(_tar(b"s/a", 0, b"2")),
        "a path that leads out": lambda: _in_tar(_tar(b"s/../../a", 0)),
        "a long name within a long name": lambda: _in_tar(*[_tar(b"x", 2, b"L", content=b"a\0")] * 50),
        "no end of gzip": lambda: gzip.compress(_in_tar())[:-4],
        "two streams": lambda: gzip.compress(_in_tar()) * 2,
        "metadata of one line": lambda: _in_tar(
            _tar(b"s/metadata.properties", 5 * _MIB, content=b"\\" * (5 * _MIB))
        ),
    },
    "as_code_text": {
        "aliases that double": lambda: b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "deep lists": lambda: b"[" * _DEEP,
        "deep blocks": lambda: b"".join(b" " * level + b"a:\n" for level in range(1_000)),
        "deep keys": lambda: b"? " * 20_000,
        "an object of Python": lambda: b"a: !!python/object/apply:os.system ['false']\n",
        "a number of a million digits": lambda: b"a: " + b"1" * 1_000_000,
        "a great exponent": lambda: b"a: 1.0e+999999\n",
        "many keys": lambda: b"".join(b"k%d: 1\n" % number for number in range(20_000)),
        "one key, often": lambda: b"a: 1\n" * 10_000,
        "a control character": lambda: b"a: \x07\n",
        "no UTF-8": lambda: b"a: \xff\xfe\n",
        "a mark of UTF-16": lambda: codecs.BOM_UTF16_LE + "a: 1\n".encode("utf-16-le"),
        "half a surrogate": lambda: rb'{"a": "\ud800"}',
        "a directive": lambda: b"%YAML 9.9\n---\na: 1\n",
        "a long line": lambda: b"a: '" + b"x " * 200_000 + b"'\n",
    },
    "patterns": {
        "a pattern whose time doubles": lambda: b"regex:(a+)+$\n" + b"a" * 5_000 + b"!",
        "choices that overlap": lambda: b"regex:(a|a)*b\n" + b"a" * 5_000,
        "choices within choices": lambda: b"regex:((a|b|ab)*)*c\n" + b"ab" * 2_500,
        "many stars": lambda: b"glob:" + b"*a" * 100 + b"\n" + b"a" * 5_000,
        "many repetitions": lambda: b"regex:((a{1,60}){1,60}){1,60}\na",
        "a billion repetitions": lambda: b"regex:a{1000000000}\na",
        "a repetition of a million digits": lambda: b"regex:a{" + b"9" * 4_000 + b"}\na",
        "deep groups": lambda: b"regex:" + b"(" * 2_000 + b"a" + b")" * 2_000 + b"\na",
        "groups without end": lambda: b"regex:" + b"(" * 4_000 + b"\na",
        "choices of braces": lambda: b"glob:" + b"{a,b}" * 800 + b"\n" + b"ab" * 400,
        "a long bracket": lambda: b"glob:[" + bytes(range(32, 92)) * 60 + b"]\na",
        "a reference": lambda: rb"regex:(a)\1" + b"\naa",
        "a look behind": lambda: b"regex:(?<=a)b\nab",
        "a long path": lambda: b"glob:**/*.csv\n" + b"/a" * 300_000,
        "a pattern that is too long": lambda: b"glob:" + b"a" * 1_000_000,
    },
    "error_bodies": {
        "brackets": lambda: b"<" * 300_000,
        "styles": lambda: b"<style" * 60_000,
        "names of Java": lambda: b"a." * 30_000 + b"Z",
        "many names of Java": lambda: b"a.b.C: " * 30_000,
        "deep JSON": lambda: b'{"error":' * 30_000,
        "a number of a million digits": lambda: b'{"error": "x", "n": ' + b"1" * 1_000_000 + b"}",
        "secrets": lambda: b"password=" * 20_000,
        "addresses": lambda: b"https://a:b" * 10_000,
        "equal signs": lambda: b"=" * 200_000,
        "quotes": lambda: b"\\\"'" * 50_000,
        "controls": lambda: b"\x1b[31m\x00\xe2\x80\xae" * 20_000,
        "a token": lambda: b"Bearer " * 20_000,
    },
    "records": {
        "deep JSON": lambda: b"\xff" + b"[" * _DEEP,
        "deep maps": lambda: _in_record(mapFields={})[:-2] + b'{"a":' * _DEEP,
        "500 MB of blanks": lambda: b"\xff" + _packed(b" " * _MIB, 500),
        "a million digits": lambda: b'\xff{"id": "x", "n": ' + b"1" * 1_000_000 + b"}",
        "fields that are none": lambda: _in_record(simpleFields=[1], mapFields=7, listFields="x"),
        "lists of numbers": lambda: _in_record(listFields={"a": [1, None, {}]}),
        "half of gzip": lambda: b"\xff" + gzip.compress(b'{"id": "x"}')[:-5],
        **{
            f"reader {number}: {what}": partial(bytes.__add__, bytes([number]), data)
            for number in range(_READERS)
            for what, data in {
                "a number": b"7",
                "a list": b"[[]]",
                "deep": b'{"a":' * 20_000,
                "half a surrogate": rb'{"id": "\ud800", "simpleFields": {"format": "1"}}',
                "formats": b'{"id": "x", "format": 1e400, "simpleFields": {"format": "\xd9\xa1"}}',
                "bytes": bytes(range(256)) * 4,
            }.items()
        },
    },
    "parsing": {
        "a million digits": lambda: b"9" * 1_000_000,
        "digits of another script": lambda: "\u0661\u0662".encode(),
        "a raised digit": lambda: "\u00b2".encode(),
        "underscores": lambda: b"_" * 200_000,
        "blanks": lambda: b" " * 500_000 + b"x",
        "a size of many digits": lambda: b"1." + b"9" * 500_000 + b"g",
        "parentheses": lambda: b"(" * 40_000,
        "quotes": lambda: b"'" * 200_001,
        "comments": lambda: b"/*" * _DEEP,
        "subqueries": lambda: b"SELECT a FROM (" * 2_000 + b"t" + b")" * 2_000,
        "commas": lambda: b"SELECT " + b"a," * 25_000 + b"a FROM t",
        "queries in texts": lambda: b"SELECT a FROM t WHERE IN_SUBQUERY(b, '" * 500,
        "semicolons": lambda: b"SET a=1;" * 8_000,
        "an address of many hosts": lambda: b"http://a:1," * 5_000,
        "an address with brackets": lambda: b"http://[" + b":" * 10_000 + b"]:1",
    },
    "csv_file": {
        "no bytes": lambda: b"",
        "200 MB of one letter": lambda: _packed(b"a" * _MIB, 200),
        "a mark, and much": lambda: _packed(b"1,2\n" * (_MIB // 4), 320, codecs.BOM_UTF8 + b"id,a\n"),
        "a quote without end": lambda: b'"' + b"a\n" * 1_000_000,
        "a million names": lambda: b"," * 1_000_000 + b"\n",
        "quotes": lambda: b'"' * 1_000_001,
        "zeros": lambda: bytes(1_000_000),
        "a mark of UTF-32": lambda: codecs.BOM_UTF32_LE + b"i\0\0\0",
        "no UTF-8": lambda: b"id,a\n" + b"\xff\xfe,\xc3\n" * 1_000,
        "line ends": lambda: b"\r" * 200_000,
    },
    "json_file": {
        "deep": lambda: b'{"a": ' + b"[" * _DEEP + b"]" * _DEEP + b"}\n",
        "no end": lambda: b"[" * 1_000_000,
        "a mark, and much": lambda: _packed(b" " * _MIB, 320, codecs.BOM_UTF8),
        "one long line": lambda: _packed(b"a" * _MIB, 200, b'{"a": "'),
        "many keys": lambda: b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b"}\n",
        "one key, often": lambda: b"{" + b'"a":1,' * 100_000 + b'"a":1}\n',
        "a million digits": lambda: b'{"a": ' + b"1" * 1_000_000 + b"}\n",
        "backslashes": lambda: b'{"a": "' + b"\\" * 1_000_001,
        "half of gzip": lambda: gzip.compress(b'{"a": 1}\n' * 1_000)[:-5],
        "an empty name": lambda: b'{"": {"": [{}]}}\n[1]\n',
        "half a surrogate": lambda: b'{"\\ud800": 1}\n',
    },
    "parquet_file": {
        "no bytes": lambda: b"",
        "marks alone": lambda: b"PAR1PAR1",
        "a footer of 2 GB": lambda: b"PAR1" + struct.pack("<i", _GREATEST) + b"PAR1",
        "a footer of less than nothing": lambda: b"PAR1" + struct.pack("<i", -1) + b"PAR1",
        "3,000 columns": lambda: _parquet(3_000),
        "a name that is no UTF-8": _misnamed_parquet,
        "structs within structs": lambda: b"PAR1" + b"\x1c" * 200_000 + struct.pack("<i", 200_000) + b"PAR1",
        "lists within lists": lambda: b"PAR1" + b"\x19\xf9" * 99_000 + struct.pack("<i", 198_000) + b"PAR1",
    },
    "data_table": {
        "no bytes": lambda: b"",
        "an array of 2^31": lambda: _table(b"LONG_ARRAY", struct.pack(">2i", 0, _GREATEST)),
        "bytes of 2 GB": lambda: _table(b"BYTES", struct.pack(">2i", 0, _GREATEST), version=4),
        "rows without bytes": lambda: struct.pack(">13i", 4, _GREATEST, 0, *([52, 4] * 5)) + bytes(16),
        "a dictionary of 2^31": lambda: _table(
            b"STRING", bytes(4), dictionary=struct.pack(">2ici", 1, 1, b"c", _GREATEST)
        ),
        "dictionaries without bytes": lambda: _table(
            b"STRING", bytes(4), dictionary=struct.pack(">5i", _GREATEST, 0, 1, 0, -16)
        ),
        "a schema of 2^31": lambda: (
            struct.pack(">13i", 3, 1, 1, *([52, 4] * 5)) + struct.pack(">i", _GREATEST)
        ),
        "metadata of 2^31": lambda: (
            struct.pack(">13i", 3, 0, 0, *([52, 0] * 5)) + struct.pack(">2i", 1, _GREATEST)
        ),
    },
    "http_requests": {
        "nothing": lambda: b"",
        "a long line": lambda: b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        "many headers": lambda: b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
        "a long header": lambda: b"GET /metrics HTTP/1.1\r\nA: " + b"b" * 200_000 + b"\r\n\r\n",
        "a great length": lambda: b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n",
        "a length of less than nothing": lambda: b"POST /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "a length in words": lambda: b"POST /health HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "another host": lambda: b"GET /metrics HTTP/1.1\r\nHost: [::1\r\n\r\n",
        "many names": lambda: b"GET /metrics?" + b"name[]=a&" * 6_000 + b" HTTP/1.1\r\n\r\n",
        "many versions": lambda: b"GET /metrics HTTP/1.1\r\nAccept: " + b"a/b;q=1," * 7_000 + b"\r\n\r\n",
        "HTTP/9": lambda: b"GET / HTTP/9.9\r\n\r\n",
        "TLS": lambda: b"\x16\x03\x01\x02\x00\x01" + bytes(512),
        "bytes": lambda: bytes(range(256)) * 100,
    },
}
"""By parser, its inputs by name; each parser is a module of :mod:`tests.fuzz`, or of this package."""
