"""The log: truncated or corrupted anywhere, it keeps everything before that position."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_client.errors import DataError
from controller_client.upsert.update_message import (
    Events,
    VersionEnd,
    decode,
    encode_end,
    encode_events,
)
from server_hooks.upsert.updates_log import Message, UpdatesLog


def _message(offset: int, number: int) -> Message:
    """Return a message; every third one is a version's end."""
    if number % 3 == 2:
        value = encode_end(VersionEnd(number // 3, 0, number, 1000 + number))
    else:
        rows = np.arange(number, 2 * number + 1, dtype=np.int64)
        (value,) = encode_events(Events(number // 3, rows, rows % 2 == 0))
    return offset, value, decode(value, where="here")


# Each example writes files.
_FEWER = settings(max_examples=settings().max_examples // 3)

# Offsets with gaps, as in a topic with transactions.
_MESSAGES = [_message(7 + number + number // 4, number) for number in range(20)]


def _read(log: UpdatesLog, since: int = 0, *, row: int = -1) -> list[int]:
    return [offset for offset, _ in log.read(since, row=row)]


def _write(log: UpdatesLog, messages: list[Message], batch: int) -> None:
    for start in range(0, len(messages), batch):
        log.append(messages[start : start + batch])


@_FEWER
@given(
    file_bytes=st.integers(1, 900),
    batch=st.integers(1, 7),
    position=st.integers(0, 10_000),
    corrupt=st.booleans(),
)
def test_messages_before_a_truncation_stay_and_the_topic_supplies_the_rest(
    file_bytes: int, batch: int, position: int, corrupt: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(UpdatesLog(folder, file_bytes=file_bytes), _MESSAGES, batch)
        for file in folder.glob("*.open"):
            content = bytearray(file.read_bytes())
            where = position % len(content)
            if corrupt:
                content[where] ^= 0xFF
            file.write_bytes(content if corrupt else content[:where])
        log = UpdatesLog(folder, file_bytes=file_bytes)
        offsets = [offset for offset, _, _ in _MESSAGES]
        kept = _read(log)
        assert kept == offsets[: len(kept)]
        assert log.summary().next == (kept[-1] + 1 if kept else None)
        _write(log, [each for each in _MESSAGES if each[0] >= (log.summary().next or 0)], batch)
        assert _read(log) == offsets
        # The next reader finds the same, including what the names of full files state.
        again = UpdatesLog(folder, file_bytes=file_bytes)
        assert again.summary() == log.summary()
        assert (again.summary().version, again.summary().at_ms) == (5, 1017)
        assert again.summary().greatest_row == 38
        assert _read(again) == offsets


@_FEWER
@given(
    file_bytes=st.integers(1, 900),
    index_bytes=st.integers(1, 300),
    since=st.integers(0, 40),
    row=st.integers(0, 45),
)
def test_messages_are_read_from_an_offset_on_and_include_all_about_a_row(
    file_bytes: int, index_bytes: int, since: int, row: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        log = UpdatesLog(Path(name), file_bytes=file_bytes, index_bytes=index_bytes)
        _write(log, _MESSAGES, 3)
        assert _read(log, since) == [offset for offset, _, _ in _MESSAGES if offset >= since]
        about = {
            offset
            for offset, _, message in _MESSAGES
            if isinstance(message, Events) and message.offsets.max() >= row
        }
        assert about <= set(_read(log, row=row))


def test_a_partial_write_is_repeated(tmp_path: Path) -> None:
    log = UpdatesLog(tmp_path)
    log.append(_MESSAGES[:4])
    (file,) = tmp_path.glob("*.open")
    whole = file.read_bytes()
    file.write_bytes(whole + b"half of a record")
    log.append(_MESSAGES[4:6])
    assert _read(log) == [offset for offset, _, _ in _MESSAGES[:6]]
    assert _read(UpdatesLog(tmp_path)) == _read(log)


def test_a_full_disk_is_reported_and_nothing_of_the_batch_counts(tmp_path: Path) -> None:
    log = UpdatesLog(tmp_path)
    log.append(_MESSAGES[:2])
    (file,) = tmp_path.glob("*.open")
    aside = tmp_path / "aside"
    file.rename(aside)
    # This simulates a full disk: the file cannot be written.
    file.symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"\[Errno"):
        log.append(_MESSAGES[2:4])
    file.unlink()
    aside.rename(file)
    assert log.summary().next == _MESSAGES[1][0] + 1
    log.append(_MESSAGES[2:4])
    assert _read(log) == [offset for offset, _, _ in _MESSAGES[:4]]


def test_a_corrupt_full_file_is_not_skipped(tmp_path: Path) -> None:
    log = UpdatesLog(tmp_path, file_bytes=1)
    log.append(_MESSAGES[:4])
    (file,) = tmp_path.glob("*.log")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(DataError, match="corrupt"):
        _read(log)


@_FEWER
@given(
    count=st.integers(1, len(_MESSAGES)),
    file_bytes=st.integers(1, 2000),
    rows=st.lists(st.integers(0, 45), min_size=1, max_size=3),
)
def test_files_about_rows_that_are_gone_are_deleted(count: int, file_bytes: int, rows: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = UpdatesLog(folder, file_bytes=file_bytes)
        _write(log, _MESSAGES[:count], 1)
        whole = log.summary()
        for row in rows:
            log.drop_rows_before(row)
        for read in (log, UpdatesLog(folder)):
            # How far the topic was read, and the version that is complete here, stay known.
            assert (read.summary().next, read.summary().version) == (whole.next, whole.version)
            left = _read(read)
            assert left == [offset for offset, _, _ in _MESSAGES[:count]][-len(left) :]
            gone = _MESSAGES[: count - len(left)]
            assert all(
                message.offsets.max() < max(rows) for _, _, message in gone if isinstance(message, Events)
            )


def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    log = UpdatesLog(tmp_path, file_bytes=1)
    _write(log, _MESSAGES[:9], 1)
    log.drop_rows_before(7)
    # The fifth message has the events of the rows 4 to 8.
    assert _read(log) == [offset for offset, _, _ in _MESSAGES[4:9]]
    log.drop_rows_before(1000)
    assert _read(log) == [_MESSAGES[8][0]], "the last end of a version"
