"""Which copies are proven, with tars as Pinot's own servers deliver them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.errors import DataError
from controller_client.segment_tar import (
    ExpectedSegment,
    Proof,
    content_crc,
    digest_of_data,
    judge_copy,
    repack,
)
from controller_client.segment_tar.layout import IndexEntry, format_index_map, parse_index_map
from tests.unit.controller_client.segment_tar.corpus import (
    LIMITS,
    SEGMENTS,
    expected_of,
    files_of,
    pack,
    write_gzip,
)

_HERE = Path(__file__).parent
OLD = _HERE / "pinot_0_11"
AS_BUILT = OLD / "as_built.tar.gz"


@pytest.mark.parametrize(
    "path", SEGMENTS, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}"
)
def test_what_servers_add_does_not_hide_what_was_committed(path: Path, tmp_path: Path) -> None:
    expected = expected_of(path)
    verdict = judge_copy(path, expected, LIMITS)
    assert verdict.proof is SEGMENTS[path]
    if verdict.proof is None:
        assert verdict.reason is not None
        assert f"crc {verdict.crc}, the record has {expected.crc}" in verdict.reason
        return
    tar = tmp_path / "s.tar.gz"
    shutil.copy(path, tar)
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    again = judge_copy(tar, expected, LIMITS)
    assert again.committed.is_all_of(again.content)
    if verdict.proof is Proof.CONTENT:
        assert content_crc(tar, LIMITS) == expected.crc


@pytest.mark.parametrize("name", ["columns_and_indexes_added", "columns_left_index_removed"])
def test_a_changed_copy_repacks_to_the_segment_as_it_was_built(name: str, tmp_path: Path) -> None:
    tar = tmp_path / "s.tar.gz"
    shutil.copy(OLD / f"{name}.tar.gz", tar)
    verdict = judge_copy(tar, expected_of(tar), LIMITS)
    assert {"column c", "c.forward_index"} <= set(verdict.committed.left_out(verdict.content))
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    built, left = files_of(AS_BUILT), files_of(tar)
    # Everything but the build time.
    assert {**left, "v3/creation.meta": built["v3/creation.meta"]} == built
    assert left["v3/creation.meta"][:8] == built["v3/creation.meta"][:8]


@pytest.mark.parametrize("name", ["as_built", "indexes_added", "columns_and_indexes_added"])
def test_a_flipped_bit_is_detected_anywhere_in_the_rows(name: str, tmp_path: Path) -> None:
    path = OLD / f"{name}.tar.gz"
    expected, files = expected_of(path), files_of(path)
    rows = sum(entry.size_bytes for entry in judge_copy(path, expected, LIMITS).committed.entries or ())
    for at in range(0, rows or len(files["v3/columns.psf"]), 97):
        damaged = bytearray(files["v3/columns.psf"])
        damaged[at] ^= 0x10
        tar = write_gzip(tmp_path / "s.tar.gz", pack({**files, "v3/columns.psf": bytes(damaged)}))
        assert judge_copy(tar, expected, LIMITS).proof is None


def test_another_segment_is_recognized_as_such(tmp_path: Path) -> None:
    expected = expected_of(AS_BUILT)
    verdict = judge_copy(AS_BUILT, replace(expected, crc=5), LIMITS)
    assert (verdict.proof, verdict.is_labelled) == (None, False)
    assert verdict.reason == f"its tar has crc {expected.crc}, not 5"
    assert judge_copy(AS_BUILT, ExpectedSegment("seg", None), LIMITS).proof is None
    # The label is right, but the rows are another segment's.
    foreign = files_of(_HERE / "pinot_1_5" / "as_built.tar.gz")
    foreign["v3/creation.meta"] = files_of(AS_BUILT)["v3/creation.meta"]
    verdict = judge_copy(write_gzip(tmp_path / "s.tar.gz", pack(foreign)), expected, LIMITS)
    assert (verdict.proof, verdict.is_labelled) == (None, True)


@pytest.mark.parametrize(
    "change",
    [
        {"v3/columns.psf": None},
        {"v3/index_map": None},
        {"v3/metadata.properties": None},
        {"v3/creation.meta": None},
        {"v3/creation.meta": bytes(15)},
        {"v3/creation.meta": bytes(32)},
        {"creation.meta": bytes(16)},
        {"v3/columns.psf": b""},
        {"v3/index_map": b""},
    ],
    ids=str,
)
def test_tars_that_are_not_segments(change: dict[str, bytes | None], tmp_path: Path) -> None:
    files = {**files_of(AS_BUILT), **change}
    tar = write_gzip(
        tmp_path / "s.tar.gz", pack({path: data for path, data in files.items() if data is not None})
    )
    with pytest.raises(DataError, match="does not contain a segment"):
        judge_copy(tar, expected_of(AS_BUILT), LIMITS)


def test_files_that_the_crc_does_not_cover_are_left_out(tmp_path: Path) -> None:
    """The crc ignores HDFS's checksum files; servers, e.g. of upsert tables, keep files of their own."""
    local = {
        "v3/.columns.psf.crc": b"x" * 99,
        "pinotPlugins.upsert": bytes(32),
        "v3/validdocids.bitmap.snapshot": b"1",
    }
    tar = write_gzip(tmp_path / "s.tar.gz", pack({**files_of(AS_BUILT), **local}))
    verdict = judge_copy(tar, expected_of(AS_BUILT), LIMITS)
    assert verdict.proof is Proof.CONTENT
    assert sorted(verdict.committed.left_out(verdict.content)) == sorted(local)
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    assert files_of(tar) == files_of(AS_BUILT)


@pytest.mark.parametrize("path", [AS_BUILT, _HERE / "pinot_1_5" / "as_built.tar.gz"], ids=["0.11", "1.5"])
def test_null_vectors_of_removed_columns_are_left_out(path: Path, tmp_path: Path) -> None:
    """Pinot 1.3 leaves them behind when a reload removes the column; they are sorted in among the others."""
    files = files_of(path)
    first, *others = parse_index_map(files["v3/index_map"])
    vector = IndexEntry("gone", "nullvalue_vector", 0, 23)
    end = first.size_bytes
    columns = files["v3/columns.psf"]
    changed = {
        "v3/index_map": format_index_map([first, vector, *others]),
        "v3/columns.psf": columns[:end] + bytes(23) + columns[end:],
    }
    tar = write_gzip(tmp_path / "s.tar.gz", pack({**files, **changed}))
    verdict = judge_copy(tar, expected_of(path), LIMITS)
    assert verdict.proof is Proof.CONTENT
    assert verdict.committed.left_out(verdict.content) == ["gone.nullvalue_vector"]
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    assert files_of(tar) == files


def test_a_data_crc_proves_nothing_about_another_segment(tmp_path: Path) -> None:
    path = _HERE / "pinot_1_5" / "committed_index_removed.tar.gz"
    expected = expected_of(path)
    assert judge_copy(path, expected, LIMITS).proof is Proof.DATA
    assert judge_copy(path, replace(expected, segment="other"), LIMITS).proof is None
    assert judge_copy(path, replace(expected, data_crc=5), LIMITS).proof is None
    assert judge_copy(path, replace(expected, data_crc=None), LIMITS).proof is None
    # Replicas that built it themselves may have a different crc, if the record says that the data crc counts.
    other = replace(expected, crc=5)
    assert judge_copy(path, other, LIMITS).proof is None
    assert judge_copy(path, replace(other, by_data_crc=True), LIMITS).proof is Proof.DATA
    files = files_of(path)
    files["v3/columns.psf"] = files["v3/columns.psf"][:-1] + b"\x55"
    tar = write_gzip(tmp_path / "s.tar.gz", pack(files))
    assert judge_copy(tar, expected, LIMITS).proof is None


def test_two_servers_with_the_same_rows_share_a_digest(tmp_path: Path) -> None:
    def digest(path: Path, *skipped: str) -> str:
        return digest_of_data(path, judge_copy(path, expected_of(path), LIMITS).content, LIMITS, skipped)

    assert digest(AS_BUILT) == digest(OLD / "columns_and_indexes_added.tar.gz")
    files = files_of(AS_BUILT)
    positions = dict(line.split(" = ") for line in files["v3/index_map"].decode().splitlines())
    for column in ("a", "x"):
        damaged = bytearray(files["v3/columns.psf"])
        damaged[int(positions[f"{column}.forward_index.startOffset"]) + 20] ^= 1
        tar = write_gzip(tmp_path / f"{column}.tar.gz", pack({**files, "v3/columns.psf": bytes(damaged)}))
        assert digest(tar) != digest(AS_BUILT)
        assert digest(tar, column) == digest(AS_BUILT, column)
    version_1 = OLD / "version_1_index_added.tar.gz"
    with pytest.raises(DataError, match="version 1"):
        digest(version_1)
