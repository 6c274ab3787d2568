"""The S3 server of the tests: versitygw, which checks signatures; built by the Go tool, kept in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from jvm_bridge.jars import cache_folder
from tests.support.file_lock import file_lock

VERSION = "1.8.0"
_MODULE = f"github.com/versity/versitygw/cmd/versitygw@v{VERSION}"
_BUILD_TIMEOUT_S = 900


class S3UnavailableError(Exception):
    """The S3 server can be neither found nor built; the text contains the reason."""


def s3_program() -> Path:
    """Return the program; builds it if it is missing (about 90 s); tried once per process.

    Raises:
        S3UnavailableError: There is no Go tool, or the build failed.
    """
    found = _program_or_reason()
    if isinstance(found, str):
        raise S3UnavailableError(found)
    return found


@lru_cache(maxsize=1)
def _program_or_reason() -> Path | str:
    folder = cache_folder() / f"versitygw-{VERSION}"
    program = folder / "versitygw"
    with file_lock(folder / ".lock"):
        reason = None if program.exists() else _build(folder)
    return reason or program


def _build(folder: Path) -> str | None:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        return "no S3 server: versitygw is built by the Go tool, and go is not on the PATH"
    # Static, so that it runs in an empty image. The file appears in GOBIN only when the build is complete.
    environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
    try:
        subprocess.run(
            [go, "install", _MODULE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=_BUILD_TIMEOUT_S,
        )
    except subprocess.CalledProcessError as error:
        return f"no S3 server: go install {_MODULE} failed: {error.stderr.strip()[-400:]}"
    except subprocess.TimeoutExpired:
        return f"no S3 server: go install {_MODULE} took over {_BUILD_TIMEOUT_S} s"
    return None
