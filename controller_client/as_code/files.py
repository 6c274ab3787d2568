"""A folder that describes a cluster: one file for each object, in YAML or JSON.

::

    cluster.yaml                    format, owner, unmanaged fields
    schemas/flights.yaml            a schema in Pinot's own form
    tables/flights_OFFLINE.yaml     a table config in Pinot's own form
    tenants/DefaultTenant.yaml      the instances of a tenant
    instances/Minion_host_9514.yaml the other tags of an instance
    consumption/x_REALTIME.yaml     whether a realtime table is paused

The content of a file determines which object it describes; its name is only for people.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from controller_client.as_code.fields import Pointer, parse_pointer
from controller_client.as_code.hiding import BOOKKEEPING
from controller_client.as_code.objects import Document, Kind, ObjectRef, ref_of
from controller_client.as_code.yaml_text import dump_yaml, load_json, load_yaml
from controller_client.common.formats import Format
from controller_client.common.new_file import new_file
from controller_client.common.references import open_regular
from controller_client.common.text import did_you_mean
from controller_client.errors import ConfigError

__all__ = ["FORMAT", "SETTINGS_FILE", "Folder", "FolderSettings", "read_folder", "write_folder"]

FORMAT = Format("the folder of the cluster as code")

SETTINGS_FILE = "cluster.yaml"

_LARGEST_BYTES = 4 * 1024 * 1024
_SUFFIXES = (".yaml", ".yml", ".json")
_DIGEST_DIGITS = 8
_FIRST_KEYS = ("schemaName", "tableName", "tableType", "tenant", "instance", "table", "name", "dataType")


_Prefix = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class FolderSettings(BaseModel):
    """The settings in ``cluster.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT.version
    owner: str = Field(default="default", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """Owner of the objects: a separate name for each folder that is applied to a cluster."""
    unmanaged: dict[Kind, tuple[str, ...]] = Field(default_factory=dict)
    """Fields that stay as they are in the cluster: JSON pointers by kind; ``*`` matches any text in a key."""
    secrets: tuple[_Prefix, ...] = ()
    """Prefixes of the variables that references may use, if the process allows them too; empty: any."""

    @field_validator("unmanaged")
    @classmethod
    def _pointers(cls, value: Mapping[Kind, tuple[str, ...]]) -> Mapping[Kind, tuple[str, ...]]:
        for pointer in (pointer for pointers in value.values() for pointer in pointers):
            if not pointer.startswith("/") or pointer == "/":
                raise ValueError(f"{pointer!r} is not a JSON pointer such as /task/taskTypeConfigsMap/MyTask")
        return value

    def pointers(self, kind: Kind) -> list[Pointer]:
        """Return the unmanaged fields of a kind; always those in which this project keeps its own state."""
        own = [BOOKKEEPING] if kind is Kind.TABLE else []
        return [*own, *(parse_pointer(text) for text in self.unmanaged.get(kind, ()))]


@dataclass(frozen=True)
class Folder:
    """The content of a folder, with references as written.

    Attributes:
        path: The folder.
        settings: Its settings.
        documents: Documents by object.
        files: File of each object, relative to the folder.
    """

    path: Path
    settings: FolderSettings
    documents: Mapping[ObjectRef, Document]
    files: Mapping[ObjectRef, str] = field(default_factory=dict)


def read_folder(path: Path) -> Folder:
    """Read a folder.

    Raises:
        ConfigError: The folder is missing; or a file cannot be read, is not in a known folder, or describes
            the same object as another file; the error names the files.
    """
    if not path.is_dir():
        raise ConfigError(f"there is no folder {path}", remedy="create one with: pinotctl export DIR")
    settings = _settings(path)
    documents: dict[ObjectRef, Document] = {}
    files: dict[ObjectRef, str] = {}
    for file in _files(path):
        relative = file.relative_to(path)
        kind = _kind(relative)
        document = _document(path, file, str(relative))
        ref = ref_of(kind, document, str(relative))
        if ref in files:
            raise ConfigError(f"two files describe the {ref}", where=f"{files[ref]} and {relative}")
        files[ref] = str(relative)
        documents[ref] = _canonical(ref, document)
    return Folder(path, settings, documents, files)


def write_folder(
    path: Path,
    settings: FolderSettings,
    documents: Mapping[ObjectRef, Document],
    *,
    as_json: bool = False,
    files: Mapping[ObjectRef, str] | None = None,
    annotate: Callable[[ObjectRef, str], str] = lambda _ref, text: text,
) -> list[Path]:
    """Write a folder, with a separate file for each object; existing files are replaced.

    Args:
        path: The folder; created if it does not exist.
        settings: Written if the folder has none.
        documents: Documents by object.
        as_json: Write JSON instead of YAML.
        files: The present file of each object, relative to the folder, which is then rewritten.
        annotate: Given an object and its text, returns the text with comments; called in this thread.

    Returns:
        The files that are new or whose content changed, relative to the folder.
    """
    suffix = ".json" if as_json else ".yaml"
    places = _places(documents, files or {}, suffix)
    texts = {
        places[ref]: annotate(ref, _text(_ordered(document), as_json)) for ref, document in documents.items()
    }
    if not (path / SETTINGS_FILE).exists():
        document = {"format": settings.format, "owner": settings.owner}
        if settings.unmanaged:
            document["unmanaged"] = {str(key): [*value] for key, value in settings.unmanaged.items()}
        if settings.secrets:
            document["secrets"] = [*settings.secrets]
        texts[SETTINGS_FILE] = dump_yaml(document)
    written = []
    for name, text in texts.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            with new_file(file) as new:
                new.write_text(text, encoding="utf-8")
            written.append(Path(name))
    return sorted(written)


def _settings(path: Path) -> FolderSettings:
    file = path / SETTINGS_FILE
    if not file.is_file():
        raise ConfigError(
            f"the folder has no {SETTINGS_FILE}",
            where=str(path),
            remedy="create one with: pinotctl export DIR, or write a file with the line 'owner: NAME'",
        )
    try:
        document = _document(path, file, SETTINGS_FILE)
        if isinstance(document.get("format"), int):
            FORMAT.check(document, str(file))
        return FolderSettings.model_validate(document)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)
        )
        raise ConfigError(f"{SETTINGS_FILE} is invalid: {faults}", where=str(file)) from None


def _files(path: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix in _SUFFIXES and file != path / SETTINGS_FILE:
                yield file


def _kind(relative: Path) -> Kind:
    first = relative.parts[0]
    if len(relative.parts) < 2 or first not in list(Kind):
        raise ConfigError(
            "the file is not in a folder for objects",
            expected=f"a file in one of {', '.join(Kind)}",
            where=str(relative),
            remedy=did_you_mean(
                first, list(Kind), otherwise="move it, or give it a name that starts with a dot"
            ),
        )
    return Kind(first)


def _document(folder: Path, file: Path, where: str) -> dict[str, Any]:
    try:
        real = file.resolve()
        if not real.is_relative_to(folder.resolve()):
            raise ConfigError(
                "the file is a link out of the folder",
                where=where,
                remedy="put a copy of what it links to into the folder",
            )
        with open(real, "rb", opener=open_regular) as opened:
            data = opened.read(_LARGEST_BYTES + 1)
        text = data.decode()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"the file cannot be read: {reason}", where=where) from None
    if len(data) > _LARGEST_BYTES:
        raise ConfigError(f"the file is larger than {_LARGEST_BYTES:,} bytes", where=where)
    document = load_json(text, where) if file.suffix == ".json" else load_yaml(text, where)
    if not isinstance(document, dict):
        raise ConfigError(f"the file contains a {type(document).__name__}", expected="an object", where=where)
    return document


def _canonical(ref: ObjectRef, document: Document) -> Document:
    """Write a table's name with its type, as the cluster does."""
    return {**document, "tableName": ref.name} if ref.kind is Kind.TABLE else document


def _ordered(value: Any) -> Any:
    """Sort the keys of objects, names first, so that two exports of one object are identical."""
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (_FIRST_KEYS.index(key) if key in _FIRST_KEYS else 99, key))
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _text(document: Any, as_json: bool) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n" if as_json else dump_yaml(document)


def _places(refs: Iterable[ObjectRef], files: Mapping[ObjectRef, str], suffix: str) -> dict[ObjectRef, str]:
    """Return the file of each object: its present one, or one that is named like it.

    No two files differ in case alone: on macOS and Windows they would be one file.
    """
    taken = {file.casefold() for file in files.values()}
    places = {}
    for ref in refs:
        place = files.get(ref)
        if place is None:
            name = f"{ref.kind}/{_file_name(ref.name)}"
            place = f"{name}{suffix}"
            if place.casefold() in taken:
                digest = hashlib.sha256(ref.name.encode()).hexdigest()[:_DIGEST_DIGITS]
                place = f"{name}.{digest}{suffix}"
            taken.add(place.casefold())
        places[ref] = place
    return places


def _file_name(name: str) -> str:
    quoted = quote(name, safe=" +,=@()")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted
