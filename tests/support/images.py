"""Container images of the tests, built here from packages.

``python -m tests.support.images`` builds the missing ones and lists all; the image of this project is in
tests.support.plugins_image.

An image's tag contains a hash of everything that it is made from, so it is rebuilt only when that changes.
Pinot's image is ``PINOT_IMAGE``, or else built from the jars of ``PINOT_HOME``, or else the official image if
a registry answers, or else built from the pinned jars.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import docker.errors

from jvm_bridge.jars import DEFAULT_PINS, cache_folder
from tests.support import base_root, chosen_pinot, engine
from tests.support.file_lock import file_lock
from tests.support.jars import jars_of, start_files
from tests.support.s3_program import VERSION as S3_VERSION
from tests.support.s3_program import s3_program
from tests.support.service import Program

_SOURCES = Path(__file__).parent.parent / "images"
_REPOSITORY = "pinot-plugins-test"
_KIND_LABEL = "pinot-plugins.tests.image"
OFFICIAL_PINOT = "apachepinot/pinot:" + DEFAULT_PINS.removeprefix("pinot-")


@dataclass(frozen=True)
class Recipe:
    """What an image is made from.

    Attributes:
        kind: Name of the image, and by default of its folder under tests/images.
        version: First part of the tag.
        base: Tag of the base image, for the Dockerfile's BASE; None for scratch.
        texts: Path in the build context to content.
        trees: Path in the build context to a file or folder of the host.
        stamp: Text that identifies the content of ``trees``, for the hash.
        folder: Folder of the Dockerfile.
        arguments: Further build arguments of the Dockerfile.
    """

    kind: str
    version: str
    base: str | None
    texts: Mapping[str, str] = field(default_factory=dict)
    trees: Mapping[str, Path] = field(default_factory=dict)
    stamp: str = ""
    folder: Path | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def dockerfile(self) -> Path:
        return (self.folder or _SOURCES / self.kind) / "Dockerfile"

    @property
    def build_arguments(self) -> Mapping[str, str]:
        return {"BASE": self.base, **self.arguments} if self.base else self.arguments

    @property
    def tag(self) -> str:
        made_from = (sorted(self.build_arguments.items()), sorted(self.texts.items()), self.stamp)
        digest = hashlib.sha256(repr(made_from).encode())
        for source in sorted(path for path in self.dockerfile.parent.iterdir() if path.is_file()):
            digest.update(source.name.encode() + source.read_bytes())
        return f"{_REPOSITORY}/{self.kind}:{self.version}-{digest.hexdigest()[:12]}"


def image_of(program: Program) -> str:
    """Return the image of a program; builds or pulls it if it is missing."""
    match program:
        case Program.PINOT:
            return pinot_image()
        case Program.KAFKA:
            return built(_of_jars(Program.KAFKA, "kafka.sh"))
        case Program.S3:
            return built(_s3())
        case Program.PINOTCTL | Program.PYTHON:
            raise ValueError(f"{program} runs from this checkout, not from an image")


@lru_cache(maxsize=1)
def pinot_image() -> str:
    """Return Pinot's image; chosen once per process."""
    named = os.environ.get(chosen_pinot.IMAGE)
    if named:
        return named
    if not os.environ.get(chosen_pinot.HOME) and engine.registry_has(OFFICIAL_PINOT):
        try:
            engine.client().images.pull(OFFICIAL_PINOT)
        except docker.errors.DockerException as error:
            _say(f"{OFFICIAL_PINOT} could not be pulled ({error}); building Pinot's image here")
        else:
            return OFFICIAL_PINOT
    return pinot_image_of_jars()


def pinot_image_of_jars() -> str:
    """Return Pinot's image as built here, even if `pinot_image` is another image of the same Pinot."""
    return built(_of_jars(Program.PINOT, "pinot-admin.sh"))


@lru_cache(maxsize=1)
def _base() -> str:
    stamp = base_root.java_release() + Path(base_root.__file__).read_text(encoding="utf-8")
    recipe = Recipe("base", "java", None, stamp=stamp)
    with _build_lock():
        if not _is_there(recipe.tag):
            with tempfile.TemporaryDirectory(prefix="pinot-plugins-base-") as folder:
                root = Path(folder) / "root"
                base_root.make_root(root)
                _build(Recipe("base", "java", None, trees={"root": root}, stamp=stamp))
    return recipe.tag


def _of_jars(program: Program, script: str) -> Recipe:
    jars = jars_of(program)
    trees: dict[str, Path] = {}
    for number, jar in enumerate(jars.class_path):
        # Two artifacts may have the same file name. Otherwise as in a distribution, for readers of the image.
        trees[f"lib/{number:03d}-{jar.name}" if f"lib/{jar.name}" in trees else f"lib/{jar.name}"] = jar
    etc = start_files([f"/opt/{program}/{name}" for name in trees])
    texts = {f"etc/{name}": text for name, text in etc.items()}
    texts[f"bin/{script}"] = (_SOURCES / program / script).read_text(encoding="utf-8")
    return Recipe(program, jars.version, _base(), texts, trees)


def _s3() -> Recipe:
    return Recipe("s3", S3_VERSION, None, trees={"versitygw": s3_program()}, stamp=S3_VERSION)


def built(recipe: Recipe) -> str:
    """Return the tag of an image; builds it if it is missing."""
    with _build_lock():
        if not _is_there(recipe.tag):
            _build(recipe)
    return recipe.tag


def _is_there(tag: str) -> bool:
    try:
        engine.client().images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


def _build(recipe: Recipe) -> None:
    started = time.monotonic()
    with tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as tar:
            tar.add(recipe.dockerfile, "Dockerfile")
            for name, text in recipe.texts.items():
                _add_text(tar, name, text)
            for name, path in recipe.trees.items():
                # The jars of a local repository may be links.
                tar.add(path.resolve(), name)
        context.seek(0)
        # With the engine's own builder, which needs neither the docker command nor BuildKit.
        engine.client().images.build(
            fileobj=context,
            custom_context=True,
            tag=recipe.tag,
            buildargs=dict(recipe.build_arguments),
            labels={_KIND_LABEL: recipe.kind},
            rm=True,
            forcerm=True,
        )
    _say(f"built {recipe.tag} in {time.monotonic() - started:.1f} s")


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o755 if name.endswith(".sh") else 0o644
    tar.addfile(entry, io.BytesIO(content))


def _build_lock() -> AbstractContextManager[None]:
    # Otherwise two sessions that start together would build the same image twice.
    return file_lock(cache_folder() / "images.lock")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Build what is missing and list the images."""
    reason = engine.why_no_engine()
    if reason:
        _say(reason)
        return 1
    chosen_pinot.choose_pinot()
    for program in (Program.PINOT, Program.KAFKA, Program.S3):
        tag = image_of(program)
        size_bytes = engine.client().images.get(tag).attrs["Size"]
        sys.stdout.write(f"{program:6} {tag} {size_bytes / 1e6:.0f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
