"""Files on this machine, or on a file system mounted under the same path on every machine."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from controller_client.common.disk import disk_full
from controller_client.common.new_file import new_file
from controller_client.common.text import visible
from controller_client.errors import SourceError
from controller_client.filestore.base import FileInfo, FolderMissingError, SourceChangedError
from controller_client.filestore.operator_folders import OperatorFolders

__all__ = ["LocalStore", "local_path", "path_in"]

logger = logging.getLogger(__name__)


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
    """A `FileStore` on the local file system, in the folders allowed by the process's operator.

    Args:
        folder_uri: The folder of the sources, which links in it do not lead out of; None: that of each file.
    """

    def __init__(self, folder_uri: str | None = None) -> None:
        self._folders = OperatorFolders()
        self._folder_uri = folder_uri

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, in the order of their URIs.

        What several links lead to is listed below the first of them, and at its own place in the folder.
        """
        root = self._path(directory_uri)
        if not root.is_dir():
            is_file = root.exists()
            found = "a file" if is_file else "nothing"
            raise (SourceError if is_file else FolderMissingError)(
                f"the input folder {visible(str(root))} cannot be listed: found {found} there",
                expected="a folder with the same path for the scheduler and all minions",
                remedy="fix inputDirURI, or use a store that every machine can reach, such as s3://",
            )
        top = root.resolve()
        yield from self._walk(root, top, {top})

    def _walk(self, folder: Path, top: Path, linked: set[Path]) -> Iterator[FileInfo]:
        """Yield the files below a folder.

        Args:
            folder: The folder.
            top: The listed folder, without links.
            linked: Folders that were entered through a link, without links: each is entered only once.
                Otherwise, links could lead in circles, or double the files with each level.
        """
        try:
            # Sorting by name, with a slash after folders, gives the order of the full URIs.
            entries = sorted(os.scandir(folder), key=lambda e: e.name + "/" if _is_folder(e) else e.name)
        except OSError as error:
            name = visible(str(folder))
            raise SourceError(f"the folder {name} cannot be read: {error.strerror}", where=name) from error
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink():
                target = self._folders.check_link(path, top)
                if _is_folder(entry):
                    if target in linked or folder.resolve().is_relative_to(target):
                        logger.warning("%s leads to a folder that is listed already", visible(str(path)))
                        continue
                    linked.add(target)
            if _is_folder(entry):
                yield from self._walk(path, top, linked)
            elif entry.is_symlink() or entry.is_file():  # also a link that leads to nothing
                yield _info(path)

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Provide the file itself, not a copy; it is checked before and after.

        It is opened once, and what was opened is checked: a link that replaces it later is not followed.
        """
        path = _listed_path(file)
        self._folders.check(path)
        _check_unchanged(file, path)
        with _opened(file, path) as handle:
            folder = path.parent if self._folder_uri is None else local_path(self._folder_uri)
            self._folders.check_below(_path_of(handle, path), path, folder.resolve())
            _check_same(file, os.fstat(handle))
            with _named(handle, path, work_dir) as provided:
                yield provided
            _check_same(file, os.fstat(handle))
        _check_unchanged(file, path)

    def upload(self, path: Path, uri: str) -> None:
        """Copy next to the target, then rename, so that readers see the complete file or none."""
        target = self._path(uri)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with new_file(target, durable=True) as new:
                shutil.copyfile(path, new)
        except OSError as error:
            name = visible(str(target))
            failed = SourceError(f"{name} cannot be written: {error.strerror}", where=name)
            raise disk_full(error, target.parent) or failed from error

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

    def move(self, source_uri: str, target_uri: str) -> bool:
        """Rename a file; return whether it exists."""
        source, target = self._path(source_uri), self._path(target_uri)
        if not source.is_file():
            return False
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not source.exists():
                return False  # another process was first
            name = visible(source_uri)
            failed = SourceError(
                f"{name} cannot be moved to {visible(target_uri)}: {error.strerror}", where=name
            )
            raise disk_full(error, target.parent) or failed from error
        return True

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
        count = sum(len(files) for _, _, files in os.walk(root))
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


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _info(path: Path) -> FileInfo:
    try:
        try:
            figures = path.stat()
        except OSError:
            if not path.is_symlink():
                raise
            figures = path.lstat()
    except OSError as error:
        raise SourceError(
            f"{visible(str(path))} disappeared while its folder was being listed: {error.strerror}"
        ) from error
    return FileInfo(f"file://{path}", figures.st_size, figures.st_mtime_ns // 1_000_000)


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
    _check_figures(file, now.size_bytes, now.modified_ms)


def _check_same(file: FileInfo, opened: os.stat_result) -> None:
    """Check the file that was opened, whatever its path leads to by now."""
    _check_figures(file, opened.st_size, opened.st_mtime_ns // 1_000_000)


def _check_figures(file: FileInfo, size_bytes: int, modified_ms: int) -> None:
    if (size_bytes, modified_ms) != (file.size_bytes, file.modified_ms):
        raise SourceChangedError(
            f"{file.shown} changed after it was listed: {file.size_bytes} bytes became {size_bytes}",
            remedy="run the task again; it will read the current file",
        )


@contextmanager
def _opened(file: FileInfo, path: Path) -> Iterator[int]:
    try:
        # Not blocking: a pipe may have replaced the file.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SourceError(f"{file.shown} cannot be read: {error.strerror}", where=file.shown) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SourceChangedError(f"{file.shown} is no file any more")
        yield handle
    finally:
        os.close(handle)


def _path_of(handle: int, path: Path) -> Path:
    """Return where an open file is, without links."""
    try:
        return _handle_path(handle).readlink()
    except OSError:  # not Linux
        return path.resolve()


def _handle_path(handle: int) -> Path:
    return Path(f"/proc/{os.getpid()}/fd/{handle}")


@contextmanager
def _named(handle: int, path: Path, work_dir: Path) -> Iterator[Path]:
    """Provide a path that leads to an open file, with the name of the file."""
    opened = _handle_path(handle)
    if not opened.exists():  # not Linux
        yield path
        return
    with TemporaryDirectory(dir=work_dir, prefix="source-") as folder:
        provided = Path(folder) / path.name
        provided.symlink_to(opened)
        yield provided
