from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from controller_client.as_code.files import FolderSettings, read_folder, write_folder
from controller_client.as_code.hiding import BOOKKEEPING
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.errors import ConfigError

_SCHEMA = ObjectRef(Kind.SCHEMA, "flights")
_TABLE = ObjectRef(Kind.TABLE, "flights_OFFLINE")
_DOCUMENTS: dict[ObjectRef, dict[str, Any]] = {
    _SCHEMA: {"schemaName": "flights", "dimensionFieldSpecs": [{"dataType": "STRING", "name": "city"}]},
    _TABLE: {"tableName": "flights_OFFLINE", "tableType": "OFFLINE", "query": {"timeoutMs": 5}},
    ObjectRef(Kind.TENANT, "Default Tenant"): {"tenant": "Default Tenant", "brokers": ["Broker_x_1"]},
    ObjectRef(Kind.INSTANCE, "Minion_x_2"): {"instance": "Minion_x_2", "tags": ["a"]},
    ObjectRef(Kind.CONSUMPTION, "f_REALTIME"): {"table": "f_REALTIME", "paused": True},
}


@pytest.mark.parametrize("as_json", [False, True])
def test_a_written_folder_is_read_back(tmp_path: Path, as_json: bool) -> None:
    unmanaged = {Kind.TABLE: ("/task/*",)}
    settings = FolderSettings(owner="us", unmanaged=unmanaged, secrets=("PINOT_SECRET_US_",))
    written = write_folder(tmp_path, settings, _DOCUMENTS, as_json=as_json)
    assert len(written) == len(_DOCUMENTS) + 1
    folder = read_folder(tmp_path)
    assert folder.documents == _DOCUMENTS
    assert folder.settings == settings
    assert folder.settings.pointers(Kind.TABLE) == [BOOKKEEPING, ("task", "*")]
    assert folder.settings.pointers(Kind.SCHEMA) == []
    assert write_folder(tmp_path, settings, _DOCUMENTS, as_json=as_json) == []


def test_a_file_begins_with_the_name_of_its_object(tmp_path: Path) -> None:
    write_folder(tmp_path, FolderSettings(), _DOCUMENTS)
    assert (tmp_path / "tables/flights_OFFLINE.yaml").read_text() == (
        "tableName: flights_OFFLINE\ntableType: OFFLINE\nquery:\n  timeoutMs: 5\n"
    )


def test_a_table_name_may_lack_its_type(tmp_path: Path) -> None:
    _write(tmp_path, "tables/any name.yml", "tableName: flights\ntableType: offline\n")
    assert read_folder(tmp_path).documents[_TABLE]["tableName"] == "flights_OFFLINE"


@pytest.mark.parametrize("name", ["..", "a/../b", "../../etc/passwd", "x\ny", ".hidden"])
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    ref = ObjectRef(Kind.SCHEMA, name)
    write_folder(folder, FolderSettings(), {ref: {"schemaName": name}})
    inside = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(folder in path.parents for path in inside)
    assert len(inside) == 2
    if "/" not in name:
        assert read_folder(folder).documents == {ref: {"schemaName": name}}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"tabels/x.yaml": "tableName: x"}, "did you mean tables"),
        ({"x.yaml": "tableName: x"}, "not in a folder for objects"),
        ({"tables/x.yaml": "tableName: x\ntableType: BOTH"}, "tableType is 'BOTH'"),
        ({"tables/x.yaml": "tableType: OFFLINE"}, "tableName is None"),
        ({"tables/x.yaml": "tableName: x_REALTIME\ntableType: OFFLINE"}, "is a table of type REALTIME"),
        ({"consumption/x.yaml": "table: x_OFFLINE\npaused: true"}, "does not consume a stream"),
        ({"schemas/x.yaml": "- a"}, "contains a list"),
        ({"schemas/x.yaml": "\xff"}, "not UTF-8"),
        (
            dict.fromkeys(("schemas/x.yaml", "schemas/y.yaml"), "schemaName: x"),
            "two files describe the schema x",
        ),
        ({"cluster.yaml": "owner: 'a b'"}, "owner"),
        ({"cluster.yaml": "ownr: x"}, "ownr"),
        ({"cluster.yaml": "secrets: ['']"}, "secrets.0"),
        ({"cluster.yaml": "unmanaged:\n  tables: [task]"}, "is not a JSON pointer"),
    ],
)
def test_an_error_in_a_folder_names_its_file(tmp_path: Path, files: dict[str, str], words: str) -> None:
    for name, text in files.items():
        _write(tmp_path, name, text)
    with pytest.raises(ConfigError) as caught:
        read_folder(tmp_path)
    assert words in str(caught.value)
    assert next(iter(files)).rsplit("/", 1)[-1] in str(caught.value)


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no cluster\.yaml"):
        read_folder(tmp_path)
    with pytest.raises(ConfigError, match="no folder"):
        read_folder(tmp_path / "none")


def test_hidden_files_and_other_files_are_ignored(tmp_path: Path) -> None:
    _write(tmp_path, "README.md", "text")
    _write(tmp_path, ".github/workflow.yaml", "a: 1")
    _write(tmp_path, "tables/.draft.yaml", "a: 1")
    assert read_folder(tmp_path).documents == {}


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="latin-1" if "\xff" in text else "utf-8")
    settings = folder / "cluster.yaml"
    if not settings.exists():
        settings.write_text("owner: us\n")


def test_names_that_differ_in_case_alone_get_files_that_do_not(tmp_path: Path) -> None:
    names = ("Flights", "flights", "FLIGHTS", "other")
    documents = {ObjectRef(Kind.SCHEMA, name): {"schemaName": name} for name in names}
    write_folder(tmp_path, FolderSettings(), documents)
    files = [path.name for path in (tmp_path / "schemas").iterdir()]
    assert len({name.casefold() for name in files}) == len(names)
    assert {"Flights.yaml", "other.yaml"} <= set(files)
    folder = read_folder(tmp_path)
    assert folder.documents == documents
    # In another order, and after the first of them is gone, each keeps its file.
    left = {ref: documents[ref] for ref in reversed(list(documents)[1:])}
    assert write_folder(tmp_path, FolderSettings(), left, files=folder.files) == []


def test_an_object_is_rewritten_where_it_is(tmp_path: Path) -> None:
    _write(tmp_path, "schemas/any name.yaml", "schemaName: flights\n")
    ref = ObjectRef(Kind.SCHEMA, "flights")
    document = {"schemaName": "flights", "primaryKeyColumns": ["id"]}
    files = read_folder(tmp_path).files
    assert write_folder(tmp_path, FolderSettings(), {ref: document}, files=files) == [
        Path("schemas/any name.yaml")
    ]
    assert read_folder(tmp_path).documents == {ref: document}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("../outside.yaml", "a link out of the folder"),
        ("/dev/zero", "a link out"),
        ("pipe", "not a regular file"),
    ],
)
def test_only_regular_files_of_the_folder_are_read(tmp_path: Path, target: str, words: str) -> None:
    folder = tmp_path / "folder"
    write_folder(folder, FolderSettings(), _DOCUMENTS)
    (tmp_path / "outside.yaml").write_text("hunter2: [")
    os.mkfifo(folder / "pipe")
    link = folder / "schemas" / "x.yaml"
    link.symlink_to(tmp_path / "folder" / target)
    with pytest.raises(ConfigError, match=words) as caught:
        read_folder(folder)
    assert "schemas/x.yaml" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_mounted_folder_has_links_to_its_own_files(tmp_path: Path) -> None:
    write_folder(tmp_path, FolderSettings(), _DOCUMENTS)
    (tmp_path / "..2026").mkdir()
    file = tmp_path / "tables/flights_OFFLINE.yaml"
    file.rename(tmp_path / "..2026" / "flights")
    (tmp_path / "..data").symlink_to("..2026")
    file.symlink_to("../..data/flights")
    assert read_folder(tmp_path).documents == _DOCUMENTS
