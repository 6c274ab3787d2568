"""Files on any file system supported by fsspec, with the guarantees of `FileStore`.

No conditional writes are needed: every written file has a name unique to its attempt. Files read are compared
before and after with the listing, by size, time and the store's content version.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import fsspec

from controller_client.common.disk import disk_full
from controller_client.common.reply_limits import ReplyTooLongError
from controller_client.common.text import visible
from controller_client.errors import ConfigError, SourceError
from controller_client.filestore.base import FileInfo, FolderMissingError, SourceChangedError
from controller_client.filestore.faults import (
    BROKEN_REPLY,
    OVERLOADED,
    OVERLOADED_STATUSES,
    TOO_LONG,
    check_copied,
)
from controller_client.filestore.traits import StoreTraits

__all__ = ["FsspecStore"]

# On DEBUG and INFO they log requests, some with their parameters, including tokens.
for _name in ("fsspec", "adlfs", "azure", "google", "urllib3.connectionpool", "webhdfs"):
    logging.getLogger(_name).setLevel(logging.WARNING)
# It logs errors before raising them, with everything a server returns.
logging.getLogger("gcsfs").setLevel(logging.CRITICAL)

_TIMES = ("mtime", "last_modified", "updated", "modificationTime", "created")
# What the libraries raise for a reply in another form than they expect.
_NOT_UNDERSTOOD = (AttributeError, KeyError, TypeError, json.JSONDecodeError)
_NOT_DECODED = ("ContentTypeError", "DecodeError", "DeserializationError")
_MAX_LEVELS = 100
"""Of folders within each other: a name node may describe endlessly many."""
_LONGEST_URI = 500
_AGAIN = "run the task again; it will read the current file"


class FsspecStore:
    """A `FileStore` on one authority (bucket, container, name node) of a file system of fsspec.

    Args:
        uri: Any URI of that authority.
        traits: Traits of the file system.
        options: Options of the file system, by the names of fsspec's class; their values are never shown.

    Raises:
        ConfigError: The options do not go together.
        ModuleNotFoundError: A module that fsspec needs for the protocol is not installed.
    """

    def __init__(self, uri: str, traits: StoreTraits, options: Mapping[str, Any]) -> None:
        self._traits = traits
        self._base, _ = _split(uri)
        try:
            implementation = traits.load() if traits.load else fsspec.get_filesystem_class(traits.protocol)
        except ImportError as error:
            raise (error.__cause__ if isinstance(error.__cause__, ModuleNotFoundError) else error) from None
        try:
            given = {**implementation._get_kwargs_from_urls(self._base), **options}  # noqa: SLF001 - fsspec's own way
            # Two tasks may have different credentials, and a cached listing would hide changes.
            self._fs: Any = implementation(**given, skip_instance_cache=True, use_listings_cache=False)
            self._root = str(implementation._strip_protocol(self._base)).rstrip("/")  # noqa: SLF001
        except ModuleNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - each library has its own; the text may quote an option
            raise ConfigError(
                f"the file system for {visible(self._base)} cannot be opened: {type(error).__name__}",
                expected="properties that go together: see docs/file-ingestion.md",
            ) from None

    def __repr__(self) -> str:
        return f"FsspecStore({visible(self._base)!r})"

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, sorted by URI."""
        path = self._path(directory_uri).rstrip("/")
        try:
            yield from self._files(path, directory_uri)
        except FileNotFoundError:
            raise FolderMissingError(
                f"the folder {visible(directory_uri)} cannot be listed: it does not exist",
                expected="a folder with files",
                remedy="fix the URI, or create the folder",
            ) from None

    def _files(self, path: str, uri: str) -> Iterator[FileInfo]:
        """List a folder; raises FileNotFoundError if it does not exist."""
        return (self._flat if self._traits.is_listed_flat else self._walk)(path, uri)

    def _flat(self, path: str, uri: str) -> Iterator[FileInfo]:
        # Folder by folder, a library treats "a//b" as "a/b", so the object would be in no folder.
        try:
            entries = self._fs.find(path, detail=True)
            if not entries:
                self._fs.info(path)  # raises if there is no folder
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001
            self._fail("list", uri, error)
        for name in sorted(entries):
            if name.startswith(f"{path}/") and entries[name]["type"] == "file" and not name.endswith("/"):
                yield self._described(name, entries[name])

    def _walk(self, path: str, uri: str, level: int = 1) -> Iterator[FileInfo]:
        if level > _MAX_LEVELS:
            raise SourceError(
                f"{visible(uri)[:_LONGEST_URI]} has too many folders above it",
                expected=f"at most {_MAX_LEVELS} folders within each other",
                where=visible(self._base),
            )
        # fsspec's own walk skips folders that cannot be listed, as if they were empty.
        try:
            entries = self._fs.ls(path or "/", detail=True)
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001
            self._fail("list", uri, error)
        named = ((str(entry["name"]), entry) for entry in entries)
        inside = [(name.rstrip("/"), entry) for name, entry in named if name.startswith(f"{path}/")]
        folders = {name for name, entry in inside if entry["type"] == "directory"}
        for name, entry in sorted(inside, key=lambda each: each[0] + "/" * (each[1]["type"] == "directory")):
            if entry["type"] == "directory":
                with suppress(FileNotFoundError):  # deleted in the meantime
                    yield from self._walk(name, self._uri(name), level + 1)
            elif entry["type"] == "file" and not self._is_marker(name, entry, folders):
                yield self._described(name, entry)

    @staticmethod
    def _is_marker(name: str, entry: Mapping[str, Any], folders: Set[str]) -> bool:
        """Whether an object marks a folder: an object store may have both objects `a` and `a/b`."""
        return str(entry["name"]).endswith("/") or (name in folders and not entry["size"])

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Download the file, comparing it before and after with the listing; the copy is deleted."""
        path = work_dir / file.copy_name
        try:
            self._check_unchanged(file)
            self._get(file.uri, path)
            self._check_unchanged(file)
            came_bytes = path.stat().st_size
            if came_bytes != file.size_bytes:
                raise SourceChangedError(
                    f"{file.shown} was listed with {file.size_bytes} bytes, but {came_bytes} were received",
                    remedy="run the task again",
                )
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _check_unchanged(self, file: FileInfo) -> None:
        now = self._info(file.uri)
        if now is None:
            raise SourceChangedError(f"{file.shown} was removed after it was listed")
        if now != file:
            raise SourceChangedError(f"{file.shown} changed after it was listed", remedy=_AGAIN)

    def upload(self, path: Path, uri: str) -> None:
        """Upload a local file: directly if that is atomic, else under another name, then rename."""
        target = self._path(uri)
        written = target
        if self._traits.is_file_system:
            # Without the file's name, which fsspec might treat as a pattern.
            written = f"{target.rpartition('/')[0]}/.{uuid.uuid4().hex}.part"
        try:
            if written != target:
                self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), written)
            if written != target:
                self._rename(written, target)
        except Exception as error:  # noqa: BLE001
            if written != target:
                with suppress(Exception):
                    self._fs.rm_file(written)
            self._fail("write", uri, error)
        # WebHDFS reports a rename that did nothing only in its response.
        if self.size_bytes(uri) != path.stat().st_size:
            raise SourceError(
                f"{visible(uri)} was written, but is missing or incomplete", remedy="run the task again"
            )

    def _rename(self, path: str, target: str) -> None:
        if self._fs.exists(target):
            self._fs.rm_file(target)
        self._fs.mv(path, target)

    def download(self, uri: str, path: Path) -> None:
        """Download a file to a local path."""
        try:
            self._get(uri, path)
        except SourceChangedError as error:
            raise SourceError(f"{visible(uri)} cannot be read: it does not exist") from error

    def _get(self, uri: str, path: Path) -> None:
        try:
            self._fs.get_file(self._path(uri), str(path))
        except FileNotFoundError:
            raise SourceChangedError(f"{visible(uri)} was removed after it was listed") from None
        except Exception as error:  # noqa: BLE001
            full = disk_full(error, path.parent) if isinstance(error, OSError) else None
            if full is not None:
                raise full from None
            self._fail("read", uri, error)

    def size_bytes(self, uri: str) -> int | None:
        """Return a file's size; None if it does not exist."""
        found = self._info(uri)
        return None if found is None else found.size_bytes

    def move(self, source_uri: str, target_uri: str) -> bool:
        """Rename a file, or let an object store copy it and then delete it; return whether it exists."""
        size_bytes = self.size_bytes(source_uri)
        if size_bytes is None:
            return False
        source, target = self._path(source_uri), self._path(target_uri)
        try:
            if self._traits.is_file_system:
                self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._rename(source, target)
            else:
                self._fs.cp_file(source, target)
        except Exception as error:  # noqa: BLE001
            self._fail("move", source_uri, error)
        # WebHDFS reports a rename that did nothing only in its response, and Azure copies in the background.
        check_copied(source_uri, target_uri, size_bytes, self.size_bytes(target_uri))
        if not self._traits.is_file_system:
            self.delete(source_uri)
        return True

    def delete(self, uri: str) -> None:
        """Delete a file."""
        try:
            self._fs.rm_file(self._path(uri))
        except FileNotFoundError:
            return
        except Exception as error:  # noqa: BLE001
            if self._info(uri) is not None:
                self._fail("delete", uri, error)

    def delete_tree(self, directory_uri: str) -> int:
        """Delete a folder recursively, file by file, then the remaining folders."""
        path = self._path(directory_uri).rstrip("/")
        try:
            files = [*self._files(path, directory_uri)]
        except FileNotFoundError:
            return 0
        for file in files:
            self.delete(file.uri)
        if self._traits.is_file_system:
            try:
                self._remove_folders(path)
            except FileNotFoundError:
                pass  # another process was first
            except Exception as error:  # noqa: BLE001
                self._fail("delete", directory_uri, error)
        return len(files)

    def _remove_folders(self, path: str) -> None:
        # fsspec's own recursive delete treats a name with "*" or "?" as a pattern.
        for entry in self._fs.ls(path, detail=True):
            if entry["type"] == "directory":
                self._remove_folders(str(entry["name"]).rstrip("/"))
        self._fs.rmdir(path)

    def _info(self, uri: str) -> FileInfo | None:
        path = self._path(uri)
        try:
            info = self._fs.info(path)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001
            self._fail("read", uri, error)
        return self._described(path, info) if info["type"] == "file" else None

    def _described(self, path: str, entry: Mapping[str, Any]) -> FileInfo:
        uri = self._uri(path)
        time = next((entry[key] for key in _TIMES if entry.get(key) is not None), None)
        key = self._traits.version_key
        version = None if key is None else entry.get(key)
        if time is None or (key is not None and version is None):
            raise SourceError(
                f"the store does not report the time or version of {visible(uri)}",
                expected="both, to detect changes of a file",
            )
        etag = None if version is None else str(version).strip('"')  # quoted only in some responses
        try:
            return FileInfo(uri, int(entry["size"]), _millis(time), etag)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._fail("read", uri, TypeError(type(error).__name__))

    def _path(self, uri: str) -> str:
        """Return fsspec's path for a URI, literally: nothing in it is a query."""
        base, path = _split(uri)
        if base != self._base:
            raise SourceError(
                f"{visible(uri)} is not in {visible(self._base)}", expected="a URI in that store"
            )
        path = f"{self._root}/{path}"
        if {".", ".."} & {*path.split("/")} or self._interpreted(path).strip("/") != path.strip("/"):
            raise SourceError(
                f"the library for {self._traits.protocol} misinterprets the name {visible(uri)}",
                expected="no part that is . or .., and no end that looks like a query or a fragment",
                remedy="rename the file, or exclude it with excludeFileNamePattern",
            )
        return path

    def _interpreted(self, path: str) -> str:
        split = getattr(self._fs, "split_path", None)
        return "/".join(split(path)[:2]) if split else str(self._fs._strip_protocol(path))  # noqa: SLF001

    def _uri(self, path: str) -> str:
        return f"{self._base}{path[len(self._root) + 1 :]}"

    def _fail(self, verb: str, uri: str, error: Exception) -> NoReturn:
        """Translate a library's error; its text may contain credentials, so only its type is reported."""
        codes = (getattr(error, name, None) for name in ("status_code", "status", "code", "errno"))
        code = next((each for each in codes if isinstance(each, int)), None)
        kind = type(error).__name__
        reason, remedy = kind, "check the credentials and their permissions, and that the store is reachable"
        if isinstance(error, _NOT_UNDERSTOOD) or kind in _NOT_DECODED:
            reason, remedy = f"its reply is not the expected one ({kind})", BROKEN_REPLY
        elif isinstance(error, ReplyTooLongError):
            reason, remedy = str(error), TOO_LONG
        elif code in OVERLOADED_STATUSES:
            remedy = OVERLOADED
        shown = reason if code is None else f"{reason} {code}"
        raise SourceError(
            f"{self._traits.protocol} failed to {verb} {visible(uri)}: {shown}",
            where=visible(self._base),
            remedy=remedy,
        ) from None


def _split(uri: str) -> tuple[str, str]:
    """Return ``scheme://authority/`` and the path after it."""
    scheme, _, rest = uri.partition("://")
    scheme = scheme.lower()
    authority, _, path = rest.partition("/")
    if not authority:
        raise ConfigError(
            f"the URI {visible(uri)!r} names no bucket, container or host",
            expected=f"{scheme}://NAME/folder/",
        )
    return f"{scheme}://{authority}/", path


def _millis(time: Any) -> int:
    """Return epoch milliseconds from a store's datetime, ISO string, seconds, or WebHDFS's milliseconds."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    return int(time) if isinstance(time, int) else int(time * 1000)
