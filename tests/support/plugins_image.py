"""The image of docker/Dockerfile, built without an image registry or the download site of uv.

It uses the tests' Pinot, the host's Python, uv from its wheel, and wheels in the build context for all
packages: the steps of the Dockerfile are unchanged.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from functools import lru_cache
from pathlib import Path

from jvm_bridge.jars import cache_folder
from tests.support import engine
from tests.support.base_root import libraries_of
from tests.support.file_lock import file_lock
from tests.support.images import Recipe, built, pinot_image_of_jars

_ROOT = Path(__file__).parents[2]
_EXTRAS = "minion,server"
_LOCKED = _ROOT / "docker" / "requirements.txt"
_PROGRAMS = ("chmod", "chown", "mkdir")
_LEFT_OUT = ("site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__", "config-*")


@lru_cache(maxsize=1)
def plugins_image() -> str:
    """Return the tag of the image; builds it if missing, which takes minutes the first time on a machine."""
    folder = cache_folder() / "plugins-image"
    # Otherwise two sessions that start together would write the same wheels.
    with file_lock(folder / "lock"):
        return _image(folder)


def _image(folder: Path) -> str:
    uv, wheels = _uv(folder), _wheels(folder)
    stamp = hashlib.sha256()
    for wheel in sorted(wheels.glob("*.whl")):
        stamp.update(wheel.name.encode())
        if wheel.name.startswith("pinot_plugins-"):
            stamp.update(wheel.read_bytes())
    image, _, tag = built(_python(folder)).rpartition(":")
    return built(
        Recipe(
            "plugins",
            tag.partition("-")[0],
            None,
            trees={"wheels": wheels, "requirements.txt": _LOCKED},
            stamp=stamp.hexdigest(),
            folder=_ROOT / "docker",
            arguments={
                "PINOT_IMAGE": image,
                "PINOT_VERSION": tag,
                "UV_IMAGE": built(uv),
                "PYTHON": str(_python_program()),
                "EXTRAS": _EXTRAS,
                "UV_OFFLINE": "true",
            },
        )
    )


def _uv(folder: Path) -> Recipe:
    program = folder / "uv"
    if not program.exists():
        _pip("download", "uv", "--no-deps", "--only-binary", ":all:", "--dest", str(folder))
        (wheel,) = folder.glob("uv-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (name for name in archive.namelist() if name.endswith("/scripts/uv"))
            part = folder / "uv.part"
            part.write_bytes(archive.read(member))
        part.chmod(0o755)
        part.rename(program)
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout
    return Recipe("uv", version.split()[1], None, trees={"uv": program}, stamp=version)


def _python(folder: Path) -> Recipe:
    """Pinot's image with the Python that runs the tests, at the same path."""
    stamp = f"{sys.version} {sys.base_prefix} {_PROGRAMS} {_LEFT_OUT}"
    base = pinot_image_of_jars()
    root = folder / f"python-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    if not root.exists():
        part = root.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        _make_python_root(part)
        part.rename(root)
    version = base.rpartition(":")[2].partition("-")[0]
    return Recipe("python", version, base, trees={"root": root}, stamp=stamp)


def _make_python_root(root: Path) -> None:
    prefix = Path(sys.base_prefix)
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    program = _python_program()
    shutil.copytree(library, _below(root, library), ignore=shutil.ignore_patterns(*_LEFT_OUT))
    _copy(program, root, program)
    programs = [Path(shutil.which(name) or name).resolve() for name in _PROGRAMS]
    for name, each in zip(_PROGRAMS, programs, strict=True):
        _copy(each, root, Path("/bin", name))
    for each in libraries_of([program, *programs, *sorted(library.rglob("*.so"))], prefix / "none"):
        _copy(each.resolve(), root, each)
    for folder in (path for path in root.rglob("*") if path.is_dir()):
        folder.chmod(0o755)  # also /root, if Python is below it: the image has a different user


def _python_program() -> Path:
    return Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")


def _copy(source: Path, root: Path, place: Path) -> None:
    target = _below(root, place)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _wheels(folder: Path) -> Path:
    """This checkout's wheel, and those of what the image locks."""
    wheels = folder / "wheels"
    wheels.mkdir(exist_ok=True)
    for old in wheels.glob("pinot_plugins-*.whl"):
        old.unlink()
    _pip("wheel", str(_ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels))
    _pip(
        "download",
        "--require-hashes",
        "--requirement",
        str(_LOCKED),
        "--only-binary",
        ":all:",
        "--no-deps",
        "--dest",
        str(wheels),
        "--find-links",
        str(wheels),
    )
    return wheels


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"pip {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")


def main() -> int:
    """Build the image and write its tag."""
    reason = engine.why_no_engine()
    if reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    sys.stdout.write(f"{plugins_image()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
