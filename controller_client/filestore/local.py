"""Files of this machine, or of a file system mounted on every machine under the same path."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from controller_client.disk import disk_full
from controller_client.errors import SourceError
from controller_client.filestore.base import FileInfo, SourceChangedError


def local_path(uri: str) -> Path:
    """Turn ``/path``, ``file:/path`` or ``file:///path`` into a path."""
    parts = urlsplit(uri)
    if not parts.scheme:
        return Path(uri).absolute()
    if parts.netloc not in ("", "localhost"):
        raise SourceError(
            f"the URI {uri} names the host {parts.netloc!r}",
            expected="file:///absolute/path, without a host",
            remedy="write three slashes after 'file:'",
        )
    # Percent-encoding is undone only where it decodes to a file that exists, since listed URIs are not
    # encoded.
    plain = Path(parts.path if not parts.query else f"{parts.path}?{parts.query}")
    decoded = Path(unquote(parts.path))
    return decoded if decoded.exists() and not plain.exists() else plain


class LocalStore:
    """A `FileStore` on the local file system."""

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, in the order of their URIs."""
        root = local_path(directory_uri)
        if not root.is_dir():
            found = "a file" if root.exists() else "nothing"
            raise SourceError(
                f"the input folder {root} cannot be listed: found {found} there",
                expected="a folder that the scheduler and all minions see under this path",
                remedy="mend inputDirURI, or use a store that every machine reaches, such as s3://",
            )
        yield from self._walk(root)

    def _walk(self, folder: Path) -> Iterator[FileInfo]:
        try:
            # Sorting by name with a slash behind folders gives the order of the full URIs.
            entries = sorted(os.scandir(folder), key=lambda e: e.name + "/" if e.is_dir() else e.name)
        except OSError as error:
            raise SourceError(
                f"the folder {folder} cannot be read: {error.strerror}", where=str(folder)
            ) from error
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir():
                yield from self._walk(path)
            elif entry.is_file():
                yield _info(path)

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Give the file where it lies; nothing is copied, so it is checked before and after."""
        del work_dir
        path = local_path(file.uri)
        _check_unchanged(file, path)
        yield path
        _check_unchanged(file, path)

    def upload(self, path: Path, uri: str) -> None:
        """Copy beside the target, then rename, so that a reader sees the whole file or none."""
        target = local_path(uri)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, temporary)
            temporary.replace(target)
        except OSError as error:
            failed = SourceError(f"{target} cannot be written: {error.strerror}", where=str(target))
            raise disk_full(error, target.parent) or failed from error
        finally:
            with suppress(OSError):  # the folder itself may be what is missing
                temporary.unlink(missing_ok=True)

    def download(self, uri: str, path: Path) -> None:
        """Copy a file to a local path."""
        try:
            shutil.copyfile(local_path(uri), path)
        except OSError as error:
            failed = SourceError(f"{uri} cannot be read: {error.strerror}", where=uri)
            raise disk_full(error, path.parent) or failed from error

    def size_bytes(self, uri: str) -> int | None:
        """Return a file's length; None where there is no file."""
        path = local_path(uri)
        try:
            return path.stat().st_size if path.is_file() else None
        except OSError as error:
            raise SourceError(f"{uri} cannot be read: {error.strerror}", where=uri) from error

    def delete(self, uri: str) -> None:
        """Delete a file."""
        try:
            local_path(uri).unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"{uri} cannot be deleted: {error.strerror}", where=uri) from error

    def delete_tree(self, directory_uri: str) -> int:
        """Delete a folder with all in it."""
        root = local_path(directory_uri)
        if not root.is_dir():
            return 0
        count = sum(1 for _ in self._walk(root))
        try:
            shutil.rmtree(root)
        except OSError as error:
            raise SourceError(f"{root} cannot be deleted: {error.strerror}", where=str(root)) from error
        return count


def _info(path: Path) -> FileInfo:
    try:
        stat = path.stat()
    except OSError as error:
        raise SourceError(f"{path} vanished while its folder was listed: {error.strerror}") from error
    return FileInfo(f"file://{path}", stat.st_size, stat.st_mtime_ns // 1_000_000)


def _check_unchanged(file: FileInfo, path: Path) -> None:
    try:
        now = _info(path)
    except SourceError as error:
        raise SourceChangedError(f"{file.uri} was removed after it was listed") from error
    if (now.size_bytes, now.modified_ms) != (file.size_bytes, file.modified_ms):
        raise SourceChangedError(
            f"{file.uri} changed after it was listed: {file.size_bytes} bytes became {now.size_bytes}",
            remedy="run the task again; it reads the file as it is then",
        )
