"""Files on any file system that fsspec knows, with the guarantees that `FileStore` asks for.

Nothing here needs conditional writes: all that is written has a name of its attempt's own. What is read is
compared before and after with what was listed, by size, time and the store's version of the content.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import fsspec

from controller_client.common.disk import disk_full
from controller_client.common.visible_text import visible
from controller_client.errors import ConfigError, SourceError
from controller_client.filestore.base import FileInfo, SourceChangedError
from controller_client.filestore.traits import StoreTraits

__all__ = ["FsspecStore"]

# On DEBUG and INFO they write requests, some with their parameters, tokens among them.
for _name in ("fsspec", "adlfs", "azure", "google", "urllib3.connectionpool", "webhdfs"):
    logging.getLogger(_name).setLevel(logging.WARNING)
# What it raises it logs first, with all that a server says.
logging.getLogger("gcsfs").setLevel(logging.CRITICAL)

_TIMES = ("mtime", "last_modified", "updated", "modificationTime", "created")
_AGAIN = "run the task again; it reads the file as it is then"


class FsspecStore:
    """A `FileStore` on one authority (bucket, container, name node) of a file system of fsspec.

    Args:
        uri: Any URI of that authority.
        traits: Of the file system.
        options: Of the file system, by the names that fsspec's class has for them; what they hold is shown
            nowhere.

    Raises:
        ConfigError: They do not make a file system together.
        ModuleNotFoundError: What fsspec needs for the protocol is not installed.
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
            # Two tasks may have other credentials, and a listing that is kept would hide what changes.
            self._fs: Any = implementation(**given, skip_instance_cache=True, use_listings_cache=False)
            self._root = str(implementation._strip_protocol(self._base)).rstrip("/")  # noqa: SLF001
        except ModuleNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - each library has its own; the text may quote an option
            raise ConfigError(
                f"no file system can be made for {visible(self._base)}: {type(error).__name__}",
                expected="properties that go together: see docs/file-ingestion.md",
            ) from None

    def __repr__(self) -> str:
        return f"FsspecStore({visible(self._base)!r})"

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, in the order of their URIs."""
        path = self._path(directory_uri).rstrip("/")
        try:
            yield from self._files(path, directory_uri)
        except FileNotFoundError:
            raise SourceError(
                f"the folder {visible(directory_uri)} cannot be listed: there is nothing",
                expected="a folder with files",
                remedy="fix the URI, or create the folder",
            ) from None

    def _files(self, path: str, uri: str) -> Iterator[FileInfo]:
        """List a folder; raises FileNotFoundError where there is none."""
        return (self._flat if self._traits.is_listed_flat else self._walk)(path, uri)

    def _flat(self, path: str, uri: str) -> Iterator[FileInfo]:
        # Folder by folder, a library takes "a//b" for "a/b", so that the object would be in no folder.
        try:
            entries = self._fs.find(path, detail=True)
            if not entries:
                self._fs.info(path)  # raises where there is no folder
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001
            self._fail("list", uri, error)
        for name in sorted(entries):
            if name.startswith(f"{path}/") and entries[name]["type"] == "file" and not name.endswith("/"):
                yield self._described(name, entries[name])

    def _walk(self, path: str, uri: str) -> Iterator[FileInfo]:
        # fsspec's own walk leaves out folders that cannot be listed, as if there were nothing in them.
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
                with suppress(FileNotFoundError):  # deleted meanwhile
                    yield from self._walk(name, self._uri(name))
            elif entry["type"] == "file" and not self._is_marker(name, entry, folders):
                yield self._described(name, entry)

    @staticmethod
    def _is_marker(name: str, entry: Mapping[str, Any], folders: Set[str]) -> bool:
        """Whether it stands for a folder: a store of objects may have both, the object `a` and `a/b`."""
        return str(entry["name"]).endswith("/") or (name in folders and not entry["size"])

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Download the file, compared before and after with what was listed; the copy is deleted."""
        path = work_dir / ("object.gz" if file.uri.endswith(".gz") else "object")
        try:
            self._check_unchanged(file)
            self._get(file.uri, path)
            self._check_unchanged(file)
            came_bytes = path.stat().st_size
            if came_bytes != file.size_bytes:
                raise SourceChangedError(
                    f"{file.shown} was listed with {file.size_bytes} bytes, but {came_bytes} came",
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
        """Put a local file at a URI: at once where the store does so, else beside it, and rename."""
        target = self._path(uri)
        written = target
        if self._traits.is_file_system:
            # Not with the file's name in it, in which fsspec might see a pattern.
            written = f"{target.rpartition('/')[0]}/.{uuid.uuid4().hex}.part"
        try:
            if written != target:
                self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), written)
            if written != target:
                if self._fs.exists(target):
                    self._fs.rm_file(target)
                self._fs.mv(written, target)
        except Exception as error:  # noqa: BLE001
            if written != target:
                with suppress(Exception):
                    self._fs.rm_file(written)
            self._fail("write", uri, error)
        # WebHDFS reports a rename that did nothing in its answer alone.
        if self.size_bytes(uri) != path.stat().st_size:
            raise SourceError(
                f"{visible(uri)} was written, but is not there as a whole", remedy="run the task again"
            )

    def download(self, uri: str, path: Path) -> None:
        """Fetch a file to a local path."""
        try:
            self._get(uri, path)
        except SourceChangedError as error:
            raise SourceError(f"{visible(uri)} cannot be read: there is nothing") from error

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
        """Return a file's length; None where there is no file."""
        found = self._info(uri)
        return None if found is None else found.size_bytes

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
        """Delete a folder with all in it, file by file, then what is left of it."""
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
                pass  # somebody else was first
            except Exception as error:  # noqa: BLE001
                self._fail("delete", directory_uri, error)
        return len(files)

    def _remove_folders(self, path: str) -> None:
        # fsspec's own recursive delete takes a name with "*" or "?" for a pattern.
        for entry in self._fs.ls(path, detail=True):
            if entry["type"] == "directory":
                self._remove_folders(str(entry["name"]).rstrip("/"))
        self._fs.rmdir(path)

    def _info(self, uri: str) -> FileInfo | None:
        path = self._path(uri)
        try:
            found = self._fs.info(path)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001
            self._fail("read", uri, error)
        return self._described(path, found) if found["type"] == "file" else None

    def _described(self, path: str, entry: Mapping[str, Any]) -> FileInfo:
        uri = self._uri(path)
        time = next((entry[key] for key in _TIMES if entry.get(key) is not None), None)
        key = self._traits.version_key
        version = None if key is None else entry.get(key)
        if time is None or (key is not None and version is None):
            raise SourceError(
                f"the store does not say when {visible(uri)} was written, or as which version",
                expected="both, so that a file that changes is noticed",
            )
        etag = None if version is None else str(version).strip('"')  # quoted in some answers, in others not
        return FileInfo(uri, int(entry["size"]), _millis(time), etag)

    def _path(self, uri: str) -> str:
        """The path that fsspec has for a URI, character by character: nothing in it is a query."""
        base, path = _split(uri)
        if base != self._base:
            raise SourceError(
                f"{visible(uri)} is not in {visible(self._base)}", expected="a URI of that store"
            )
        path = f"{self._root}/{path}"
        if {".", ".."} & {*path.split("/")} or self._taken_for(path).strip("/") != path.strip("/"):
            raise SourceError(
                f"{visible(uri)} has a name that the library of {self._traits.protocol} takes for another",
                expected="no part that is . or .., and no end that looks like a query or a fragment",
                remedy="rename the file, or leave it out by excludeFileNamePattern",
            )
        return path

    def _taken_for(self, path: str) -> str:
        split = getattr(self._fs, "split_path", None)
        return "/".join(split(path)[:2]) if split else str(self._fs._strip_protocol(path))  # noqa: SLF001

    def _uri(self, path: str) -> str:
        return f"{self._base}{path[len(self._root) + 1 :]}"

    def _fail(self, verb: str, uri: str, error: Exception) -> NoReturn:
        """Translate a library's error; its text may carry credentials, so only its kind is reported."""
        codes = (getattr(error, name, None) for name in ("status_code", "status", "code", "errno"))
        code = next((f" {each}" for each in codes if isinstance(each, int)), "")
        raise SourceError(
            f"{self._traits.protocol} failed to {verb} {visible(uri)}: {type(error).__name__}{code}",
            where=visible(self._base),
            remedy="check the credentials, what they may do, and that the store is reachable",
        ) from None


def _split(uri: str) -> tuple[str, str]:
    """Return ``scheme://authority/`` and the path behind it."""
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
    """Epoch milliseconds of what stores have: datetimes, ISO texts, seconds, and WebHDFS' milliseconds."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    return int(time) if isinstance(time, int) else int(time * 1000)
