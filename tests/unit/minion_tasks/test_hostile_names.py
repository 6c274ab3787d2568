"""Files with hostile names: each is ingested correctly and once, or rejected by name.

Listing, patterns, plan, ledger, local copies, preparation of files, provenance and reports are real. Only the
segment is not built: it consists of the rows of the files that were prepared.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller_client.common.text import visible
from controller_client.errors import DataError
from controller_client.filestore import open_store
from controller_client.filestore.s3 import _split
from jvm_bridge.builder import BuiltSegment, FileFormat, FilesBuilt, InputRules
from jvm_bridge.builder.columns import SourceColumns
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.builder.sources.source import open_bytes
from jvm_bridge.folder_columns import FolderColumns
from minion_tasks.file_ingestion.engine.group_run import GroupRun, SubtaskFailedError
from minion_tasks.file_ingestion.engine.staging_builder import StagingBuilder
from minion_tasks.file_ingestion.params.patterns import PathMatcher
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.plan.planner import SourcePlan, plan_source, select
from minion_tasks.file_ingestion.plan.provenance import Provenance
from minion_tasks.file_ingestion.plan.write import write_groups
from minion_tasks.file_ingestion.report.counts import read_report
from minion_tasks.file_ingestion.report.page import page
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.session.model import FileStatus, IngestionMode, SessionState, move
from tests.support.tiers import FULL
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.samples import make_session, make_store

NAMES = 1_000
PIECES: Sequence[bytes] = [
    *(b"a", b"b", b"1", b".json", b".csv", b".gz", b".", b"..", b"-", b"_", b"~"),
    *(b"#", b"?", b"%", b"%20", b"%23", b"%2F", b"%00", b"%FF", b"+", b"&", b"=", b";", b":", b"@", b","),
    *(b" ", b"  ", b"\t", b"\n", b"\r", b"\r\n", b"\x01", b"\x1b[31m", b"\x7f", b"\\", b"\\n", b"\\x41"),
    *(
        b"'",
        b'"',
        b"`",
        b"$HOME",
        b"$(x)",
        b"${x}",
        b"<b>",
        b"&lt;",
        b"|",
        b"*",
        b"[a]",
        b"{a,b}",
        b"!",
        b"^",
    ),
    *(b"file:", b"s3:", b"http:", b"C:"),
    *("ü".encode(), "u\u0308".encode(), "日本".encode(), "🛫".encode(), "\u202e".encode(), "\ufeff".encode()),
    *("\u2028".encode(), "\u0085".encode(), "\ufffd".encode()),
    *(b"\xff", b"\xfe", b"\xc3", b"\xed\xa0\x80", b"\x80"),
]
FIELDS = ("id", "word")
TABLE = PinotTable(
    None,
    None,
    TableRequirements(tuple(Field(name, "STRING", True, 512) for name in FIELDS), None, True),
    SourceColumns(frozenset(FIELDS), frozenset(FIELDS)),
    {},
)


def hostile_names(count: int) -> list[bytes]:
    """Return distinct names, some of them in folders, none of which is the folder of another."""
    pick = random.Random(2013)
    folders = [b"f/"] + [b"f" + b"".join(pick.choices(PIECES, k=3)) + b"/" for _ in range(30)]
    names: dict[bytes, None] = {}
    while len(names) < count:
        name = b"".join(pick.choices(PIECES, k=pick.randint(1, 7)))
        if not name.startswith((b"f", b".", b"_")):  # the others are not data
            names[pick.choice([b"", b"", pick.choice(folders)]) + name] = None
    return list(names)


@dataclass
class Reading:
    """Acts like a `SegmentBuilder` without building segments: collects rows and custom metadata."""

    work_dir: Path
    rows: dict[str, list[str]] = field(default_factory=dict)
    custom: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def from_files(
        self,
        paths: Sequence[Path],
        file_format: FileFormat,
        segment_name: Callable[[int], str],
        *,
        max_rows: int,
        reader_config: Mapping[str, str] | None,
        custom_metadata: Callable[[Sequence[int]], Mapping[str, str]],
        folders: Sequence[FolderColumns],
    ) -> FilesBuilt:
        del max_rows, folders
        failures: dict[int, DataError] = {}
        ids: list[str] = []
        for index, path in enumerate(paths):
            folder = Path(tempfile.mkdtemp(dir=self.work_dir))
            try:
                ready = prepare(TABLE, SourceFile(path, file_format, reader_config), InputRules(), folder)
            except DataError as error:
                failures[index] = error
                continue
            with closing(open_bytes(ready.file.path)) as stream:
                text = stream.read().decode()
            ids += [row["id"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        good = [index for index in range(len(paths)) if index not in failures]
        if not good:
            return FilesBuilt((), failures)
        name = segment_name(0)
        self.rows[name], self.custom[name] = ids, custom_metadata(good)
        tars = [self.work_dir / f"{name}{ending}" for ending in (".tar.gz", ".metadata.tar.gz")]
        for tar in tars:
            tar.write_text(name)
        segment = BuiltSegment(name, len(ids), tars[0], 1, tars[1], 1, 1, None, None, None, "arrow")
        return FilesBuilt((segment,), failures)


@dataclass(frozen=True)
class Source:
    """The files: maps the path in bytes to the id of its row, or to None for a bad file."""

    root: Path
    ids: Mapping[bytes, str | None]

    def path(self, name: bytes) -> bytes:
        return os.fsencode(self.root) + b"/" + name


@pytest.fixture
def source(tmp_path: Path, full: bool) -> Source:
    root = tmp_path / "in"
    ids: dict[bytes, str | None] = {}
    for number, name in enumerate(hostile_names(NAMES if full else 300)):
        path = os.fsencode(root) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - names of bytes
        bad = number % 20 == 7
        with open(path, "wb") as out:  # noqa: PTH123
            out.write(b"id,word\n1,caf\xe9\n" if bad else f"id,word\nrow-{number},x\n".encode())
        ids[name] = None if bad else f"row-{number}"
    return Source(root, ids)


def plan(source: Source, params: FileIngestionParams, contents: TableContents) -> SourcePlan:
    listed = open_store(params.input_dir_uri, {}).list(params.input_dir_uri)
    return plan_source(
        params.mode,
        list(select(listed, params.input_dir_uri, params.include, params.exclude).files.values()),
        contents,
    )


def contents_of(custom: Mapping[str, Mapping[str, str]]) -> TableContents:
    """Return the table as the next run reads it from segment metadata, which is text in ZooKeeper."""
    by_name = {
        name: Provenance.from_custom_map(json.loads(json.dumps(each)), segment=name)
        for name, each in custom.items()
    }
    files = {file.uri: file for each in by_name.values() if each for file in each.inputs}
    return TableContents(
        files, {name: tuple(f.uri for f in each.inputs) for name, each in by_name.items() if each}
    )


def as_bytes(uri: str) -> bytes:
    return os.fsencode(uri.removeprefix("file://"))


@pytest.mark.parametrize("mode", ["sync", pytest.param("append", marks=FULL)])
def test_each_file_is_ingested_correctly_or_rejected_by_name(
    source: Source, tmp_path: Path, mode: str
) -> None:
    work, staging = tmp_path / "work", tmp_path / "staging"
    work.mkdir()
    configs = {
        "inputDirURI": f"file://{source.root}",
        "inputFormat": "csv",
        "outputDirURI": f"file://{staging}",
        "taskMaxNumFilesPerTask": "50",
        **({"enableSync": "true"} if mode == "sync" else {"desiredSegmentSize": "200"}),
    }
    params = FileIngestionParams.from_configs(configs)
    first = plan(source, params, TableContents())
    assert {as_bytes(file.uri) for file in first.to_read} == {source.path(name) for name in source.ids}

    sessions, _ = make_store()
    session = sessions.create(
        make_session(
            mode=IngestionMode(mode), source=params.input_dir_uri, staging_uri=f"file://{staging}/s1"
        )
    )
    session = write_groups(sessions, session, first.to_read, params, slots=2)
    session = sessions.save(move(session, SessionState.IN_PROGRESS, 2))
    builder, clock = Reading(work), FakeClock()
    staged = StagingBuilder(session, params, builder, work, clock)  # type: ignore[arg-type]
    given = {"attempt": 0, "build": staged, "params": params, "is_cancelled": lambda: False, "clock": clock}
    for number in range(session.groups):
        with suppress(SubtaskFailedError):
            GroupRun(sessions, "s1", number, **given).run()  # type: ignore[arg-type]

    expected = {source.path(name): row for name, row in source.ids.items()}
    _check_ledger([e for group in sessions.groups(session) for e in group.entries], expected)
    contents = contents_of(builder.custom)
    for name, rows in builder.rows.items():
        assert rows == [expected[as_bytes(uri)] for uri in contents.uris_of[name]]
    good = {path for path, row in expected.items() if row is not None}
    assert sorted(map(as_bytes, contents.files)) == sorted(good)
    assert {as_bytes(uri) for uri in Publication.of(sessions, session).staged_uris} == good

    text = page(read_report(sessions, session, failures=NAMES), now_ms=1)
    assert text.encode()
    assert text.count("does not start a character in UTF-8") == len(expected) // 20
    _check_what_follows(source, params, contents, expected)


def _check_ledger(entries: Sequence[Any], expected: Mapping[bytes, str | None]) -> None:
    assert sorted(as_bytes(entry.file.uri) for entry in entries) == sorted(expected)
    for entry in entries:
        if expected[as_bytes(entry.file.uri)] is None:
            assert entry.status is FileStatus.FAILED
            assert entry.error.startswith(f"{visible(entry.file.uri)}: ")
            assert ", line 2: the byte 0xe9" in entry.error
            assert f"\n  Where: {visible(entry.file.uri)}, line 2" in entry.error  # not its local copy
        else:
            assert (entry.status, entry.error) == (FileStatus.STAGED, None)


def _check_what_follows(
    source: Source, params: FileIngestionParams, contents: TableContents, expected: Mapping[bytes, str | None]
) -> None:
    """Check that the next listing finds exactly the new and deleted files, and patterns match each path."""
    left = plan(source, params, contents)
    assert {as_bytes(file.uri) for file in left.to_read} == {
        path for path, row in expected.items() if row is None
    }
    assert left.diff.deleted == ()
    good = [path for path, row in expected.items() if row is not None]
    gone = random.Random(7).sample(good, 50)
    for path in gone:
        os.unlink(path)  # noqa: PTH108
    assert sorted(map(as_bytes, plan(source, params, contents).diff.deleted)) == sorted(gone)
    anything = PathMatcher("glob:**/*")
    assert all(anything.matches(uri) for uri in contents.files)


def test_the_same_names_as_s3_keys() -> None:
    keys = [name.decode() for name in hostile_names(NAMES) if name == name.decode("utf-8", "ignore").encode()]
    assert len(keys) > NAMES // 2
    for key in keys:
        assert _split(f"s3://bucket/in/{key}") == ("bucket", f"in/{key}")
