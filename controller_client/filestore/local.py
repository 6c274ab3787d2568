"""Files on this machine, or on a file system mounted under the same path on every machine."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from controller_client.common.disk import disk_full
from controller_client.common.visible_text import visible
from controller_client.errors import SourceError
from controller_client.filestore.base import FileInfo, SourceChangedError
from controller_client.filestore.operator_folders import OperatorFolders

__all__ = ["LocalStore", "local_path", "path_in"]


def path_in(uri: str) -> str:
    """Return the path in ``/path``, ``file:/path`` or ``file:///path``, literally.

    A file's name may contain any character, so nothing in it is a query, a fragment or an escape.

    Raises:
        SourceError: The URI names a host.
    """
    scheme, colon, path = uri.partition(":")
    if not colon or scheme.lower() != "file":
        return uri
    if not path.startswith("//"):
        return path
    host, slash, path = path[2:].partition("/")
    if host not in ("", "localhost"):
        raise SourceError(
            f"the URI {visible(uri)} contains the host {visible(host)!r}",
            expected="file:///absolute/path, without a host",
            remedy="write three slashes after 'file:'",
        )
    return slash + path


def local_path(uri: str) -> Path:
    """Convert a user's URI to a path.

    Percent-encoding is decoded only if the decoded path exists and the literal one does not.
    """
    plain = Path(path_in(uri)).absolute()
    decoded = Path(unquote(str(plain)))
    return decoded if decoded.exists() and not plain.exists() else plain


def _listed_path(file: FileInfo) -> Path:
    """Return the exact path of a listed file."""
    return Path(path_in(file.uri))


class LocalStore:
    """A `FileStore` on the local file system, in the folders allowed by the process's operator."""

    def __init__(self) -> None:
        self._folders = OperatorFolders()

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, in the order of their URIs."""
        root = self._path(directory_uri)
        if not root.is_dir():
            found = "a file" if root.exists() else "nothing"
            raise SourceError(
                f"the input folder {visible(str(root))} cannot be listed: found {found} there",
                expected="a folder with the same path for the scheduler and all minions",
                remedy="fix inputDirURI, or use a store that every machine can reach, such as s3://",
            )
        yield from self._walk(root)

    def _walk(self, folder: Path) -> Iterator[FileInfo]:
        try:
            # Sorting by name, with a slash after folders, gives the order of the full URIs.
            entries = sorted(os.scandir(folder), key=lambda e: e.name + "/" if e.is_dir() else e.name)
        except OSError as error:
            name = visible(str(folder))
            raise SourceError(f"the folder {name} cannot be read: {error.strerror}", where=name) from error
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink():
                self._folders.check(path)
            if entry.is_dir():
                yield from self._walk(path)
            elif entry.is_file() or entry.is_symlink():  # also a link that leads to nothing
                yield _info(path)

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Provide the file itself, not a copy; it is checked before and after."""
        del work_dir
        path = _listed_path(file)
        self._folders.check(path)
        _check_unchanged(file, path)
        yield path
        _check_unchanged(file, path)

    def upload(self, path: Path, uri: str) -> None:
        """Copy next to the target, then rename, so that readers see the complete file or none."""
        target = self._path(uri)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, temporary)
            temporary.replace(target)
        except OSError as error:
            name = visible(str(target))
            failed = SourceError(f"{name} cannot be written: {error.strerror}", where=name)
            raise disk_full(error, target.parent) or failed from error
        finally:
            with suppress(OSError):  # the folder itself may be missing
                temporary.unlink(missing_ok=True)

    def download(self, uri: str, path: Path) -> None:
        """Copy a file to a local path."""
        source = self._path(uri)
        try:
            shutil.copyfile(source, path)
        except OSError as error:
            name = visible(uri)
            failed = SourceError(f"{name} cannot be read: {error.strerror}", where=name)
            raise disk_full(error, path.parent) or failed from error

    def size_bytes(self, uri: str) -> int | None:
        """Return a file's size; None if it does not exist."""
        path = self._path(uri)
        try:
            return path.stat().st_size if path.is_file() else None
        except OSError as error:
            name = visible(uri)
            raise SourceError(f"{name} cannot be read: {error.strerror}", where=name) from error

    def delete(self, uri: str) -> None:
        """Delete a file."""
        path = self._path(uri)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            name = visible(uri)
            raise SourceError(f"{name} cannot be deleted: {error.strerror}", where=name) from error

    def delete_tree(self, directory_uri: str) -> int:
        """Delete a folder recursively."""
        root = self._path(directory_uri)
        if not root.is_dir():
            return 0
        count = sum(1 for _ in self._walk(root))
        try:
            shutil.rmtree(root)
        except OSError as error:
            name = visible(str(root))
            raise SourceError(f"{name} cannot be deleted: {error.strerror}", where=name) from error
        return count

    def _path(self, uri: str) -> Path:
        path = local_path(uri)
        self._folders.check(path)
        return path


def _info(path: Path) -> FileInfo:
    try:
        try:
            stat = path.stat()
        except OSError:
            if not path.is_symlink():
                raise
            stat = path.lstat()
    except OSError as error:
        raise SourceError(
            f"{visible(str(path))} disappeared while its folder was being listed: {error.strerror}"
        ) from error
    return FileInfo(f"file://{path}", stat.st_size, stat.st_mtime_ns // 1_000_000)


def _check_unchanged(file: FileInfo, path: Path) -> None:
    if path.is_symlink() and not path.exists():
        raise SourceChangedError(
            f"{file.shown} is a link that leads to nothing",
            remedy="restore what it leads to, or remove the link",
        )
    try:
        now = _info(path)
    except SourceError as error:
        raise SourceChangedError(f"{file.shown} was removed after it was listed") from error
    if (now.size_bytes, now.modified_ms) != (file.size_bytes, file.modified_ms):
        raise SourceChangedError(
            f"{file.shown} changed after it was listed: {file.size_bytes} bytes became {now.size_bytes}",
            remedy="run the task again; it will read the current file",
        )
